-- Debezium inside Snowmelt: no broker, nothing else to run. It begins at once, and goes on where it stopped.
-- The password is read from the environment of the process that runs `snowmelt serve`.
CREATE CONNECTOR IF NOT EXISTS shop
  TYPE = POSTGRES
  HOST = 'db.internal'
  DATABASE = 'shop'
  USER = 'snowmelt'
  PASSWORD_ENV = 'SHOP_PASSWORD'
  SSL_MODE = REQUIRE
  TABLES = ('public.customers', 'public.orders')
  SLOT = 'snowmelt_shop'
  PUBLICATION = 'snowmelt_shop'
  SNAPSHOT_MODE = WHEN_NEEDED
  TARGET = RAW
  RAW_TABLE = raw_changes
  SLOT_WARNING_MB = 2048
  COMMENT = 'customers and orders of the shop';
