{{ config(materialized='table') }}
select id, customer, amount::number(10, 2) as amount from {{ ref('as_table') }}
