{% snapshot orders_snapshot %}
{{ config(unique_key='id', strategy='check', check_cols=['amount']) }}
select id, customer, amount from {{ ref('as_table') }}
{% endsnapshot %}
