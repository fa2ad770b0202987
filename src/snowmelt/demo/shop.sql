-- The shop's own database: what a PostgreSQL application has before anybody thinks of analytics.
CREATE TABLE customers (
  id integer PRIMARY KEY,
  name text NOT NULL,
  city text NOT NULL,
  tier text NOT NULL DEFAULT 'bronze'
);

CREATE TABLE orders (
  id integer PRIMARY KEY,
  customer_id integer NOT NULL,
  status text NOT NULL DEFAULT 'placed',
  placed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE order_lines (
  order_id integer NOT NULL REFERENCES orders,
  line integer NOT NULL,
  product text NOT NULL,
  quantity integer NOT NULL,
  price numeric(10, 2) NOT NULL,
  PRIMARY KEY (order_id, line)
);

-- So that updates and deletes tell the whole row as it was.
ALTER TABLE customers REPLICA IDENTITY FULL;
ALTER TABLE orders REPLICA IDENTITY FULL;
ALTER TABLE order_lines REPLICA IDENTITY FULL;
