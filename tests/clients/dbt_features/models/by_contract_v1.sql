{{ config(materialized='table') }}
select id, customer from {{ ref('as_table') }}
