select
    event:event_id::varchar as event_id,
    event:order_id::varchar as order_id,
    event:customer::varchar as customer_id,
    event:status::varchar as status,
    event:amount::number(10, 2) as amount,
    event:at::timestamp_ntz as ordered_at
from {{ source('landing', 'raw_events') }}
