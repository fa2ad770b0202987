-- Every change of the source, as it came and for good: what comes after can always be built anew from here.
CREATE TABLE raw_changes (
  change_number NUMBER NOT NULL,     -- the order in which changes happened
  operation VARCHAR NOT NULL,        -- INSERT, UPDATE, DELETE, TRUNCATE; READ for what a snapshot found
  table_name VARCHAR NOT NULL,
  before VARIANT,
  after VARIANT,
  ts_ms NUMBER,                      -- when the source committed it
  ingested_at TIMESTAMP_LTZ          -- when it came here
);

-- One for each reader: a stream is consumed as a whole.
CREATE STREAM customers_landed ON TABLE raw_changes APPEND_ONLY = TRUE;
CREATE STREAM orders_landed ON TABLE raw_changes APPEND_ONLY = TRUE;
