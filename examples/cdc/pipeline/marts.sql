-- Orders with the customer as of the moment of the order: a later move changes nothing about it.
CREATE DYNAMIC TABLE order_facts
  TARGET_LAG = DOWNSTREAM
  REFRESH_MODE = INCREMENTAL
AS
  SELECT
    o.id AS order_id,
    o.status,
    o.amount,
    o.placed_at,
    c.surrogate_key AS customer_key,
    COALESCE(c.city, 'unknown') AS city
  FROM orders o
  LEFT JOIN customers c
    ON c.id = o.customer_id
    AND c.valid_from <= o.placed_at
    AND (o.placed_at < c.valid_to OR c.valid_to IS NULL);

CREATE DYNAMIC TABLE revenue_by_city
  TARGET_LAG = '1 minute'
  REFRESH_MODE = INCREMENTAL
AS
  SELECT
    city,
    COUNT(*) AS orders,
    SUM(amount) AS revenue,
    SUM(IFF(status = 'returned', amount, 0)) AS returned
  FROM order_facts
  GROUP BY city;
