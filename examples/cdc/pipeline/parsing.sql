-- The same, typed. A task runs when its stream has data; the insert, the stream's new place and the record of the run
-- commit together, so that each change is parsed exactly once.
CREATE TABLE customer_changes (
  change_number NUMBER NOT NULL,
  operation VARCHAR NOT NULL,
  changed_at TIMESTAMP_LTZ NOT NULL,
  id NUMBER NOT NULL,
  name VARCHAR,
  city VARCHAR
);

CREATE TABLE order_changes (
  change_number NUMBER NOT NULL,
  operation VARCHAR NOT NULL,
  changed_at TIMESTAMP_LTZ NOT NULL,
  id NUMBER NOT NULL,
  customer_id NUMBER,
  status VARCHAR,
  amount NUMBER(12, 2),
  placed_at TIMESTAMP_LTZ
);

CREATE STREAM orders_changed ON TABLE order_changes APPEND_ONLY = TRUE;

-- The orders as they are.
CREATE TABLE orders (
  id NUMBER NOT NULL,
  customer_id NUMBER,
  status VARCHAR,
  amount NUMBER(12, 2),
  placed_at TIMESTAMP_LTZ
);

CREATE TASK parse_customers
  WAREHOUSE = compute_wh
  USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 10
  WHEN SYSTEM$STREAM_HAS_DATA('customers_landed')
AS
  INSERT INTO customer_changes
  SELECT
    change_number,
    operation,
    -- What the first snapshot finds has been so since before anybody looked.
    IFF(operation = 'READ', '1970-01-01'::TIMESTAMP_LTZ, TO_TIMESTAMP_LTZ(ts_ms, 3)),
    COALESCE(after, before):id::NUMBER,
    after:name::VARCHAR,
    after:city::VARCHAR
  FROM customers_landed
  WHERE table_name = 'public.customers' AND operation <> 'TRUNCATE';

CREATE TASK parse_orders
  WAREHOUSE = compute_wh
  USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 10
  WHEN SYSTEM$STREAM_HAS_DATA('orders_landed')
AS
  INSERT INTO order_changes
  SELECT
    change_number,
    operation,
    TO_TIMESTAMP_LTZ(ts_ms, 3),
    COALESCE(after, before):id::NUMBER,
    after:customer_id::NUMBER,
    after:status::VARCHAR,
    after:amount::NUMBER(12, 2),
    after:placed_at::TIMESTAMP_LTZ
  FROM orders_landed
  WHERE table_name = 'public.orders' AND operation <> 'TRUNCATE';

-- The last change of each order in the batch is what the order is now.
CREATE TASK keep_orders
  WAREHOUSE = compute_wh
  AFTER parse_orders
  WHEN SYSTEM$STREAM_HAS_DATA('orders_changed')
AS
  MERGE INTO orders AS o
  USING (
    SELECT id, customer_id, status, amount, placed_at, operation
    FROM orders_changed
    QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY change_number DESC) = 1
  ) AS c
  ON o.id = c.id
  WHEN MATCHED AND c.operation = 'DELETE' THEN DELETE
  WHEN MATCHED THEN UPDATE SET
    customer_id = c.customer_id, status = c.status, amount = c.amount, placed_at = c.placed_at
  WHEN NOT MATCHED AND c.operation <> 'DELETE' THEN
    INSERT (id, customer_id, status, amount, placed_at)
    VALUES (c.id, c.customer_id, c.status, c.amount, c.placed_at);
