{{ config(materialized='table') }}
select id, customer, amount, placed_at from {{ ref('orders_seed') }}
