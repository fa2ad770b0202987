CREATE DYNAMIC TABLE daily_revenue
    TARGET_LAG = '1 minute'
AS
SELECT placed_at::DATE AS day, country, COUNT(*) AS orders, SUM(amount) AS revenue
FROM order_facts
GROUP BY 1, 2;

CREATE DYNAMIC TABLE top_customers
    TARGET_LAG = '5 minutes'
AS
SELECT customer_name, SUM(amount) AS revenue
FROM order_facts
GROUP BY customer_name
QUALIFY RANK() OVER (ORDER BY revenue DESC) <= 10;
