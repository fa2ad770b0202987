-- Change data capture in SQL: raw changes land in a table, tasks parse them and keep a history of each customer
-- (a slowly changing dimension of type 2), a dynamic table counts on top. Everything runs by itself once resumed.

-- What the source sends: one row a change, as it came. Nothing is ever thrown away here.
CREATE TABLE landing (
  position NUMBER NOT NULL,          -- place in the source's log
  operation VARCHAR NOT NULL,        -- c(reate), u(pdate), d(elete)
  changed_at TIMESTAMP_NTZ NOT NULL,
  before VARIANT,
  after VARIANT
);

CREATE STREAM landed ON TABLE landing APPEND_ONLY = TRUE;

-- The same, parsed.
CREATE TABLE customer_changes (
  position NUMBER NOT NULL,
  operation VARCHAR NOT NULL,
  changed_at TIMESTAMP_NTZ NOT NULL,
  id NUMBER NOT NULL,
  name VARCHAR,
  city VARCHAR
);

CREATE STREAM customers_changed ON TABLE customer_changes APPEND_ONLY = TRUE;

-- Every state that a customer had, and when.
CREATE TABLE customer_history (
  id NUMBER NOT NULL,
  name VARCHAR,
  city VARCHAR,
  valid_from TIMESTAMP_NTZ NOT NULL,
  valid_to TIMESTAMP_NTZ,
  is_current BOOLEAN NOT NULL
);

-- Data in the stream starts the graph: a root with WHEN and no SCHEDULE.
CREATE TASK parse_changes
  WAREHOUSE = COMPUTE_WH
  USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 10
  WHEN SYSTEM$STREAM_HAS_DATA('landed')
AS
  INSERT INTO customer_changes (position, operation, changed_at, id, name, city)
  SELECT
    position,
    operation,
    changed_at,
    COALESCE(after:id, before:id)::NUMBER,
    after:name::VARCHAR,
    after:city::VARCHAR
  FROM landed;

-- One MERGE closes the row that was current and adds the new ones. Several changes of one customer in a batch become
-- rows that follow each other.
CREATE TASK keep_history
  WAREHOUSE = COMPUTE_WH
  AFTER parse_changes
  WHEN SYSTEM$STREAM_HAS_DATA('customers_changed')
AS
  MERGE INTO customer_history AS history
  USING (
    SELECT id AS closes, id, NULL AS name, NULL AS city, MIN(changed_at) AS valid_from, NULL AS valid_to
    FROM customers_changed
    GROUP BY id
    UNION ALL
    SELECT NULL AS closes, id, name, city, changed_at AS valid_from, valid_to
    FROM (
      SELECT id, name, city, operation, changed_at,
        LEAD(changed_at) OVER (PARTITION BY id ORDER BY position) AS valid_to
      FROM customers_changed
    )
    WHERE operation <> 'd'
  ) AS change
  ON history.id = change.closes AND history.is_current
  WHEN MATCHED THEN UPDATE SET valid_to = change.valid_from, is_current = FALSE
  WHEN NOT MATCHED AND change.closes IS NULL THEN
    INSERT (id, name, city, valid_from, valid_to, is_current)
    VALUES (change.id, change.name, change.city, change.valid_from, change.valid_to, change.valid_to IS NULL);

CREATE DYNAMIC TABLE customers_by_city
  TARGET_LAG = '10 seconds'
  WAREHOUSE = COMPUTE_WH
  REFRESH_MODE = INCREMENTAL
AS
  SELECT city, COUNT(*) AS customers
  FROM customer_history
  WHERE is_current
  GROUP BY city;

SELECT SYSTEM$TASK_DEPENDENTS_ENABLE('parse_changes');
