{{ config(materialized='incremental', incremental_strategy='append',   on_schema_change='append_new_columns') }}
select id, customer, amount, placed_at from {{ ref('as_table') }}
{% if is_incremental() %} where id >= (select max(id) from {{ this }}) {% endif %}
