-- Quality checks for the way from raw changes to orders: each query gives the offending rows, and none if all is well.

-- A change that is there twice, or one that is missing in between.
SELECT change_number, LEAD(change_number) OVER (ORDER BY change_number) AS following
FROM raw_changes
QUALIFY following <> change_number + 1;

-- Changes that were parsed twice, and changes that are older than a minute and were not parsed.
SELECT change_number, COUNT(*) AS parsed FROM order_changes GROUP BY change_number HAVING COUNT(*) > 1;

SELECT r.change_number, r.table_name, r.ingested_at
FROM raw_changes r
LEFT JOIN order_changes o ON o.change_number = r.change_number
LEFT JOIN customer_changes c ON c.change_number = r.change_number
WHERE o.change_number IS NULL AND c.change_number IS NULL AND r.operation <> 'TRUNCATE'
  AND r.ingested_at < DATEADD('minute', -1, CURRENT_TIMESTAMP());

-- Two rows for one order.
SELECT id, COUNT(*) AS copies FROM orders GROUP BY id HAVING COUNT(*) > 1;

-- Orders that are not what their last change says.
SELECT o.id, o.status, c.status AS should_be
FROM orders o
JOIN (
  SELECT id, status, operation FROM order_changes
  QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY change_number DESC) = 1
) c ON c.id = o.id
WHERE c.operation = 'DELETE' OR c.status <> o.status;

-- Orders of a customer of whom nothing was ever heard.
SELECT o.id, o.customer_id FROM orders o
WHERE NOT EXISTS (SELECT 1 FROM customer_changes c WHERE c.id = o.customer_id);
