"""Twenty statements of the kind that pipelines and dashboards send, other than TPC-H's."""

from __future__ import annotations

TABLES = """
CREATE TABLE raw_events (event_id INTEGER, user_id INTEGER, kind VARCHAR, payload VARIANT, at TIMESTAMP_NTZ);
CREATE TABLE users (user_id INTEGER, email VARCHAR, country VARCHAR(2), created_on DATE, updated_at TIMESTAMP_NTZ);
CREATE TABLE sales (sale_id INTEGER, user_id INTEGER, product VARCHAR, amount NUMBER(12, 2), quantity INTEGER,
    sold_at TIMESTAMP_NTZ);
CREATE TABLE daily_sales (day DATE, product VARCHAR, revenue NUMBER(38, 2), orders INTEGER)
"""


def statements() -> dict[str, str]:
    """By a short name."""
    return {name: text.strip() for name, text in _STATEMENTS.items()}


_STATEMENTS = {
    "point": "SELECT user_id, email, country FROM users WHERE user_id = 42",
    "count": "SELECT COUNT(*) FROM sales",
    "star": "SELECT * FROM sales ORDER BY sold_at DESC LIMIT 100",
    "group": "SELECT product, SUM(amount) AS revenue FROM sales GROUP BY product HAVING SUM(amount) > 1000 ORDER BY 2",
    "group all": "SELECT DATE_TRUNC('month', sold_at) AS month, product, AVG(amount) FROM sales GROUP BY ALL",
    "join": """
SELECT u.country, COUNT(DISTINCT s.user_id) AS buyers, SUM(s.amount * s.quantity) AS revenue
FROM sales s JOIN users u ON u.user_id = s.user_id
WHERE s.sold_at >= DATEADD(day, -30, CURRENT_TIMESTAMP()) GROUP BY u.country""",
    "left join": """
SELECT u.user_id, COALESCE(SUM(s.amount), 0) AS spent FROM users u
LEFT JOIN sales s ON s.user_id = u.user_id AND s.quantity > 0 GROUP BY u.user_id""",
    "deduplicate": """
SELECT * FROM raw_events QUALIFY ROW_NUMBER() OVER (PARTITION BY event_id ORDER BY at DESC) = 1""",
    "window": """
SELECT sale_id, SUM(amount) OVER (PARTITION BY user_id ORDER BY sold_at ROWS BETWEEN 6 PRECEDING AND CURRENT ROW),
    LAG(amount) OVER (PARTITION BY user_id ORDER BY sold_at), RANK() OVER (ORDER BY amount DESC)
FROM sales""",
    "variant": """
SELECT payload:device.os::VARCHAR AS os, payload:items[0].price::NUMBER(10, 2) AS price, COUNT(*)
FROM raw_events WHERE payload:version::INT > 2 GROUP BY 1, 2""",
    "flatten": """
SELECT e.event_id, i.index, i.value:sku::VARCHAR AS sku
FROM raw_events e, LATERAL FLATTEN(INPUT => e.payload:items) i WHERE e.kind = 'order'""",
    "cte": """
WITH recent AS (SELECT * FROM sales WHERE sold_at >= '2024-01-01'),
     ranked AS (SELECT user_id, product, amount, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY amount DESC) AS n
                FROM recent)
SELECT u.email, r.product, r.amount FROM ranked r JOIN users u USING (user_id) WHERE r.n <= 3""",
    "staging": """
WITH source AS (SELECT * FROM raw_events),
     renamed AS (SELECT event_id AS id, LOWER(TRIM(kind)) AS kind,
                        TRY_TO_NUMBER(payload:amount::VARCHAR, 10, 2) AS amount,
                        TO_DATE(at) AS day, IFF(user_id IS NULL, 'anonymous', 'known') AS visitor,
                        MD5(CONCAT_WS('|', event_id, user_id)) AS key FROM source)
SELECT * FROM renamed WHERE amount IS NOT NULL""",
    "case": """
SELECT user_id, CASE WHEN country IN ('DE', 'AT', 'CH') THEN 'DACH' WHEN country LIKE 'U_' THEN 'U' ELSE 'other' END,
    DATEDIFF(day, created_on, CURRENT_DATE()), SPLIT_PART(email, '@', 2), NVL(country, '??')
FROM users""",
    "union": """
SELECT user_id, 'sale' AS what, sold_at AS at FROM sales UNION ALL
SELECT user_id, kind, at FROM raw_events ORDER BY at LIMIT 50""",
    "exists": """
SELECT email FROM users u WHERE EXISTS (SELECT 1 FROM sales s WHERE s.user_id = u.user_id AND s.amount > 100)
    AND u.user_id NOT IN (SELECT user_id FROM raw_events WHERE kind = 'unsubscribe')""",
    "rollup": "SELECT country, created_on, COUNT(*) FROM users GROUP BY ROLLUP (country, created_on)",
    "object": """
SELECT user_id, OBJECT_CONSTRUCT('email', email, 'sales', ARRAY_AGG(s.sale_id) WITHIN GROUP (ORDER BY s.sale_id))
FROM users u JOIN sales s USING (user_id) GROUP BY user_id, email""",
    "insert select": """
INSERT INTO daily_sales SELECT sold_at::DATE, product, SUM(amount), COUNT(*) FROM sales GROUP BY 1, 2""",
    "insert columns": """
INSERT INTO users (user_id, email, updated_at)
SELECT payload:user.id, payload:user.email, at FROM raw_events WHERE kind = 'signup'""",
}
