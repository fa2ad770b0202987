-- Everything the demo runs on, as anybody would write it. `snowmelt demo` fills in the port of its PostgreSQL.
CREATE OR REPLACE DATABASE shop;

-- 1. Capture. Every change of three tables lands here, once, and is never thrown away.
CREATE TABLE raw_changes (
  change_number NUMBER NOT NULL,     -- the order in which changes happened
  operation VARCHAR NOT NULL,        -- INSERT, UPDATE, DELETE, TRUNCATE; READ for what was there before
  table_name VARCHAR NOT NULL,
  before VARIANT,
  after VARIANT,
  ts_ms NUMBER,                      -- when the source committed it
  ingested_at TIMESTAMP_LTZ
);

CREATE CONNECTOR shop
  TYPE = POSTGRES HOST = '127.0.0.1' PORT = {port} DATABASE = 'postgres' USER = 'postgres'
  TABLES = ('public.customers', 'public.orders', 'public.order_lines')
  TARGET = RAW RAW_TABLE = raw_changes;

-- 2. Parse. A stream knows what is new, and a task types it whenever there is something.
CREATE TABLE customer_changes (
  id NUMBER NOT NULL,
  name VARCHAR,
  city VARCHAR,
  tier VARCHAR,
  operation VARCHAR NOT NULL,
  changed_at TIMESTAMP_LTZ NOT NULL,
  change_number NUMBER NOT NULL
);

CREATE STREAM new_changes ON TABLE raw_changes APPEND_ONLY = TRUE;

CREATE TASK parse_customers
  WAREHOUSE = compute_wh
  USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 10
  WHEN SYSTEM$STREAM_HAS_DATA('new_changes')
AS
  INSERT INTO customer_changes
  SELECT
    COALESCE(after, before):id::NUMBER,
    after:name::VARCHAR,
    after:city::VARCHAR,
    after:tier::VARCHAR,
    operation,
    -- What the first snapshot finds has been so since before anybody looked.
    IFF(operation = 'READ', '1970-01-01'::TIMESTAMP_LTZ, TO_TIMESTAMP_LTZ(ts_ms, 3)),
    change_number
  FROM new_changes
  WHERE table_name = 'public.customers';

ALTER TASK parse_customers RESUME;

-- 3. The dimension: every version that a customer had, and when.
CREATE SCD TYPE 2 TABLE customers
  KEY (id)
  SEQUENCE BY changed_at, change_number
  DELETE WHEN operation = 'DELETE'
  TARGET_LAG = DOWNSTREAM
  REFRESH_MODE = INCREMENTAL
FROM customer_changes;

-- 4. Three stages of dynamic tables. Staging: orders and their lines as they are now …
CREATE SCD TYPE 1 TABLE orders
  KEY (id)
  SEQUENCE BY change_number
  DELETE WHEN operation = 'DELETE'
  TARGET_LAG = DOWNSTREAM
  REFRESH_MODE = INCREMENTAL
FROM (
  SELECT
    COALESCE(after, before):id::NUMBER AS id,
    after:customer_id::NUMBER AS customer_id,
    after:status::VARCHAR AS status,
    after:placed_at::TIMESTAMP_LTZ AS placed_at,
    operation,
    change_number
  FROM raw_changes
  WHERE table_name = 'public.orders'
);

CREATE SCD TYPE 1 TABLE order_lines
  KEY (order_id, line)
  SEQUENCE BY change_number
  DELETE WHEN operation = 'DELETE'
  TARGET_LAG = DOWNSTREAM
  REFRESH_MODE = INCREMENTAL
FROM (
  SELECT
    COALESCE(after, before):order_id::NUMBER AS order_id,
    COALESCE(after, before):line::NUMBER AS line,
    after:product::VARCHAR AS product,
    after:quantity::NUMBER AS quantity,
    after:price::NUMBER(10, 2) AS price,
    operation,
    change_number
  FROM raw_changes
  WHERE table_name = 'public.order_lines'
);

-- … enrichment: each line with the customer as of the moment of the order …
CREATE DYNAMIC TABLE sales
  TARGET_LAG = DOWNSTREAM
  WAREHOUSE = compute_wh
  REFRESH_MODE = INCREMENTAL
AS
  SELECT
    l.order_id,
    l.line,
    o.status,
    l.product,
    l.quantity * l.price AS amount,
    COALESCE(c.city, 'unknown') AS city,
    COALESCE(c.tier, 'unknown') AS tier
  FROM order_lines l
  JOIN orders o ON o.id = l.order_id
  LEFT JOIN customers c
    ON c.id = o.customer_id
    AND c.valid_from <= o.placed_at
    AND (o.placed_at < c.valid_to OR c.valid_to IS NULL);

-- … and aggregation, which is what people look at. Its lag is the one that the tables above keep to.
CREATE DYNAMIC TABLE revenue
  TARGET_LAG = '2 seconds'
  WAREHOUSE = compute_wh
  REFRESH_MODE = INCREMENTAL
AS
  SELECT
    city,
    COUNT(DISTINCT order_id) AS orders,
    SUM(amount) AS revenue,
    SUM(IFF(status = 'returned', amount, 0)) AS returned
  FROM sales
  GROUP BY city;
