CREATE DYNAMIC TABLE order_facts
    TARGET_LAG = DOWNSTREAM
    COMMENT = 'Every order with who placed it'
AS
SELECT o.id, o.placed_at, o.amount, c.name AS customer_name, c.country
FROM orders o
JOIN customers c ON c.id = o.customer;
