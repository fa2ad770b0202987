-- How old is the version of its table up to which each stream was consumed? It grows while a task does not run.
SELECT
  column1 AS stream,
  column2 AS has_data,
  DATEDIFF('second', TO_TIMESTAMP_LTZ(column3, 9), CURRENT_TIMESTAMP()) AS seconds_since_consumed
FROM VALUES
  (
    'customers_landed',
    SYSTEM$STREAM_HAS_DATA('customers_landed'),
    SYSTEM$STREAM_GET_TABLE_TIMESTAMP('customers_landed')
  ),
  ('orders_landed', SYSTEM$STREAM_HAS_DATA('orders_landed'), SYSTEM$STREAM_GET_TABLE_TIMESTAMP('orders_landed')),
  ('orders_changed', SYSTEM$STREAM_HAS_DATA('orders_changed'), SYSTEM$STREAM_GET_TABLE_TIMESTAMP('orders_changed'));
