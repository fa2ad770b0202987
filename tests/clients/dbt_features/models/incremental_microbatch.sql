{{ config(materialized='incremental', incremental_strategy='microbatch',  event_time='placed_at', begin='2026-01-01', batch_size='year', lookback=1, on_schema_change='append_new_columns') }}
select id, customer, amount, placed_at from {{ ref('as_table') }}

