CREATE DATABASE shop;
CREATE SCHEMA shop.raw; CREATE SCHEMA shop.staging; CREATE SCHEMA shop.marts;
USE SCHEMA shop.raw;
CREATE TABLE orders (id INT, customer_id INT, country VARCHAR, amount NUMBER(10,2), placed_at TIMESTAMP_NTZ) CHANGE_TRACKING = TRUE;
CREATE TABLE customers (id INT, name VARCHAR, tier VARCHAR, email VARCHAR) CHANGE_TRACKING = TRUE;
CREATE TABLE events (id INT, customer_id INT, kind VARCHAR, at TIMESTAMP_NTZ) CHANGE_TRACKING = TRUE;
INSERT INTO customers VALUES (1, 'Ada', 'gold', 'ada@example.com'), (2, 'Grace', 'silver', 'grace@example.com'), (3, 'Edsger', 'gold', 'edsger@example.com');
INSERT INTO orders VALUES (1, 1, 'de', 25.00, '2026-11-18 09:00:00'), (2, 2, 'fr', 17.50, '2026-11-18 09:05:00'), (3, 3, 'nl', 99.90, '2026-11-18 09:06:00'), (4, 1, 'de', 12.00, '2026-11-18 09:08:00');
INSERT INTO events VALUES (1, 1, 'view', '2026-11-18 09:00:00'), (2, 2, 'cart', '2026-11-18 09:01:00'), (3, 1, 'view', '2026-11-18 09:02:00');
CREATE DYNAMIC TABLE shop.staging.clean_orders TARGET_LAG = DOWNSTREAM WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS
  SELECT id, customer_id, UPPER(country) AS country, amount, placed_at FROM shop.raw.orders WHERE amount > 0;
CREATE DYNAMIC TABLE shop.staging.active_customers TARGET_LAG = DOWNSTREAM WAREHOUSE = compute_wh AS
  SELECT id, name, tier FROM shop.raw.customers WHERE tier IS NOT NULL;
CREATE DYNAMIC TABLE shop.staging.sessions TARGET_LAG = DOWNSTREAM WAREHOUSE = compute_wh AS
  SELECT customer_id, COUNT(*) AS events, MAX(at) AS last_seen FROM shop.raw.events GROUP BY customer_id;
CREATE DYNAMIC TABLE shop.marts.revenue TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS
  SELECT o.country, c.tier, COUNT(*) AS orders, SUM(o.amount) AS total
  FROM shop.staging.clean_orders o JOIN shop.staging.active_customers c ON o.customer_id = c.id GROUP BY o.country, c.tier;
CREATE DYNAMIC TABLE shop.marts.customer_360 TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS
  SELECT c.id, c.name, c.tier, s.events, s.last_seen FROM shop.staging.active_customers c LEFT JOIN shop.staging.sessions s ON s.customer_id = c.id;
CREATE TABLE shop.raw.prices (id INT, price NUMBER(10,2)); INSERT INTO shop.raw.prices VALUES (1, 2.50);
CREATE DYNAMIC TABLE shop.marts.price_list TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS SELECT id, price FROM shop.raw.prices;
CREATE DYNAMIC TABLE shop.marts.daily TARGET_LAG = '2 seconds' WAREHOUSE = compute_wh AS
  SELECT placed_at::DATE AS day, SUM(amount) AS total FROM shop.staging.clean_orders GROUP BY 1;
CREATE DYNAMIC TABLE shop.marts.archive TARGET_LAG = '1 day' WAREHOUSE = compute_wh AS SELECT country, COUNT(*) AS n FROM shop.raw.orders GROUP BY country;
CREATE VIEW shop.marts.gold_revenue AS SELECT * FROM shop.marts.revenue WHERE tier = 'gold';
CREATE STREAM shop.raw.new_events ON TABLE shop.raw.events;
CREATE TABLE shop.staging.seen (customer_id INT, kind VARCHAR);
CREATE TASK shop.staging.note_events WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS INSERT INTO shop.staging.seen SELECT customer_id, kind FROM shop.raw.new_events;
CREATE TASK shop.staging.trim_seen WAREHOUSE = compute_wh AFTER shop.staging.note_events AS DELETE FROM shop.staging.seen WHERE kind IS NULL;
CREATE ALERT shop.marts.low_revenue WAREHOUSE = compute_wh SCHEDULE = '60 minutes' IF (EXISTS (SELECT 1 FROM shop.marts.revenue WHERE total < 0)) THEN INSERT INTO shop.staging.seen VALUES (0, 'alert');
ALTER TABLE shop.raw.events ADD QUALITY CHECK known_kind AS ACCEPTED_VALUES (kind) VALUES = ('view', 'cart', 'buy') SEVERITY = WARN;
ALTER DYNAMIC TABLE shop.marts.archive SUSPEND;
CREATE DATA PRODUCT shop.marts.revenue_by_country OBJECTS = (shop.marts.revenue) OWNER = 'finance@example.com' FRESHNESS = '2 hours';
CREATE ROLE reader; GRANT USAGE ON DATABASE shop TO ROLE reader; GRANT USAGE ON SCHEMA shop.marts TO ROLE reader;
GRANT SELECT ON TABLE shop.marts.revenue TO ROLE reader; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE reader;
CREATE USER rita PASSWORD = 'correct horse battery' DEFAULT_ROLE = reader; GRANT ROLE reader TO USER rita;
