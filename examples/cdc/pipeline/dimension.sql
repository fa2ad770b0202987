-- Every version that a customer had, and when; late, repeated and unordered changes give the same.
CREATE SCD TYPE 2 TABLE customers
  KEY (id)
  SEQUENCE BY changed_at, change_number
  DELETE WHEN operation = 'DELETE'
  TARGET_LAG = DOWNSTREAM
FROM customer_changes;
