{{ config(materialized='dynamic_table', target_lag=var('lag', '2 minutes'), snowflake_warehouse='COMPUTE_WH', on_configuration_change='apply') }}
select id, customer from {{ ref('as_table') }}
