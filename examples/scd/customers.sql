-- The history of every customer from change events, and orders with the customer as of when they were placed.
CREATE TABLE raw_changes (operation VARCHAR, table_name VARCHAR, before VARIANT, after VARIANT, ts_ms INT);

INSERT INTO raw_changes
SELECT column1, 'customers', PARSE_JSON(column2), PARSE_JSON(column3), column4 FROM VALUES
  ('INSERT', NULL, '{"id": 1, "name": "Ada", "city": "London"}', 1704103200000),
  ('UPDATE', NULL, '{"id": 1, "name": "Ada", "city": "Paris"}', 1704189600000),
  ('INSERT', NULL, '{"id": 2, "name": "Bob", "city": "Rome"}', 1704103200000),
  ('DELETE', '{"id": 2, "name": "Bob", "city": "Rome"}', NULL, 1704276000000);

CREATE SCD TYPE 2 TABLE customers
  KEY (id) SEQUENCE BY at DELETE WHEN operation = 'DELETE' WAREHOUSE = compute_wh
FROM (
  SELECT COALESCE(after, before):id::INT AS id, after:name::VARCHAR AS name, after:city::VARCHAR AS city,
         operation, TO_TIMESTAMP_NTZ(ts_ms, 3) AS at
  FROM raw_changes WHERE table_name = 'customers'
);

CREATE TABLE orders (order_id INT, customer_id INT, placed_at TIMESTAMP_NTZ);
INSERT INTO orders VALUES (1, 1, '2024-01-01 12:00:00'), (2, 1, '2024-01-02 12:00:00'), (3, 2, '2024-01-02 12:00:00');

CREATE DYNAMIC TABLE orders_by_city TARGET_LAG = '1 minute' WAREHOUSE = compute_wh AS
SELECT c.city, COUNT(*) AS orders
FROM orders o
LEFT JOIN customers c
  ON c.id = o.customer_id AND c.valid_from <= o.placed_at AND (o.placed_at < c.valid_to OR c.valid_to IS NULL)
GROUP BY c.city;
