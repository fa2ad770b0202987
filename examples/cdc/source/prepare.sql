-- In PostgreSQL, once, as an administrator: what a connector needs of the source.
-- `ALTER CONNECTOR shop CHECK` says which of it is missing, with the SQL for it.

-- The server must write its log in full; this one needs a restart:
--   ALTER SYSTEM SET wal_level = 'logical';
-- A slot that nobody reads must not fill the disk:
ALTER SYSTEM SET max_slot_wal_keep_size = '10GB';
SELECT pg_reload_conf();

CREATE TABLE IF NOT EXISTS customers (
  id integer PRIMARY KEY,
  name text NOT NULL,
  city text
);

CREATE TABLE IF NOT EXISTS orders (
  id integer PRIMARY KEY,
  customer_id integer NOT NULL,
  status text NOT NULL,
  amount numeric(12, 2) NOT NULL,
  placed_at timestamptz NOT NULL DEFAULT now()
);

-- Updates and deletes then tell the row as it was, and values that an update left alone are told too.
ALTER TABLE customers REPLICA IDENTITY FULL;
ALTER TABLE orders REPLICA IDENTITY FULL;

-- Who reads it. The password is set by whoever keeps your secrets, not here.
CREATE ROLE snowmelt WITH LOGIN REPLICATION;
GRANT SELECT ON customers, orders TO snowmelt;

-- What is read: an owner of the tables makes it, so that the role above need not be one.
CREATE PUBLICATION snowmelt_shop FOR TABLE customers, orders;
