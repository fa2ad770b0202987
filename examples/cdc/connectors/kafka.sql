-- Debezium in your Kafka Connect; Snowmelt reads its topics. It begins at once, and waits for topics that are not there yet.
-- Connect's side of it is what `snowmelt connector config shop` prints: kafka-connect.json beside this file.
-- Instead of embedded.sql: both land in one table under one name.
CREATE CONNECTOR IF NOT EXISTS shop
  TYPE = POSTGRES
  HOST = 'db.internal'
  DATABASE = 'shop'
  USER = 'snowmelt'
  PASSWORD_ENV = 'SHOP_PASSWORD'
  SSL_MODE = REQUIRE
  TABLES = ('public.customers', 'public.orders')
  SLOT = 'snowmelt_shop_kafka'
  PUBLICATION = 'snowmelt_shop'
  SNAPSHOT_MODE = WHEN_NEEDED
  ROUTE = KAFKA
  BOOTSTRAP_SERVERS = 'kafka.internal:9092'
  TOPIC_PREFIX = 'shop'
  TARGET = RAW
  RAW_TABLE = raw_changes
  SLOT_WARNING_MB = 2048
  COMMENT = 'customers and orders of the shop, through Kafka';
