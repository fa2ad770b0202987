{# What comes before the product: the landing table and a procedure that makes events. Run again, it changes nothing. #}
{% macro prepare_events(events=20) %}
  {% set schema = target.database ~ "." ~ target.schema %}
  {% do run_query("create schema if not exists " ~ schema) %}
  {% do run_query("create table if not exists " ~ schema ~ ".raw_events (event variant, loaded_at timestamp_ntz) change_tracking = true") %}
  {% set procedure %}
    create or replace procedure {{ schema }}.generate_events(n int)
    returns varchar
    language sql
    as
    $$
    begin
      insert into {{ schema }}.raw_events
      select
        object_construct(
          'event_id', uuid_string(),
          'order_id', 'o-' || uuid_string(),
          'customer', 'c-' || mod(seq4(), 7),
          'status', iff(mod(seq4(), 5) = 0, 'returned', 'placed'),
          'amount', 10 + mod(seq4(), 90) + 0.5,
          'at', '2026-01-01 12:00:00'
        ),
        current_timestamp()::timestamp_ntz
      from table(generator(rowcount => :n));
      return n || ' events';
    end
    $$
  {% endset %}
  {% do run_query(procedure) %}
  {% set found = run_query("select count(*) from " ~ schema ~ ".raw_events") %}
  {% if found.columns[0].values()[0] == 0 %}
    {% do run_query("call " ~ schema ~ ".generate_events(" ~ events ~ ")") %}
  {% endif %}
{% endmacro %}
