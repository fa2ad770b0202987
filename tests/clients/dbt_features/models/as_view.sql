{{ config(materialized='view') }}
select customer, sum(amount) as total from {{ ref('as_table') }} group by customer
