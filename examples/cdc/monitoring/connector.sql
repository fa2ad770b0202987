-- Is the source captured, how far behind is it, and how much of its log does it keep for us?
SHOW CONNECTORS LIKE 'SHOP';
SELECT
  "name",
  "state",
  "error",
  "warning",
  "changes",
  "dead_letters",
  DATEDIFF('second', "last_change_at", "last_landed_at") AS seconds_behind,
  "slot_bytes"
FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()));
