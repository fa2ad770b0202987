{{ config(
    target_lag='1 minute',
    snowflake_warehouse='COMPUTE_WH',
    refresh_mode='INCREMENTAL',
    on_configuration_change='apply'
) }}
select
    order_id,
    customer_id,
    status,
    amount,
    ordered_at
from {{ ref('stg_order_events') }}
