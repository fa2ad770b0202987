-- The base tables: filled by whoever sells, read by everything else.
CREATE TABLE customers (
    id      INT PRIMARY KEY,
    name    VARCHAR(100) NOT NULL,
    country VARCHAR(2) NOT NULL COMMENT 'ISO 3166'
);

CREATE TABLE orders (
    id        INT PRIMARY KEY,
    customer  INT NOT NULL REFERENCES customers (id),
    amount    NUMBER(12, 2) NOT NULL,
    placed_at TIMESTAMP_NTZ NOT NULL
);
