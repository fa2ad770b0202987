-- From the source's commit to the raw table, over the last ten minutes. Rows that a snapshot read do not count.
SELECT
  table_name,
  COUNT(*) AS changes,
  PERCENTILE_CONT(0.50) WITHIN GROUP (ORDER BY latency_ms) AS p50_ms,
  PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95_ms,
  PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY latency_ms) AS p99_ms
FROM (
  SELECT table_name, DATEDIFF('millisecond', TO_TIMESTAMP_LTZ(ts_ms, 3), ingested_at) AS latency_ms
  FROM raw_changes
  WHERE operation <> 'READ' AND ingested_at > DATEADD('minute', -10, CURRENT_TIMESTAMP())
)
GROUP BY table_name
ORDER BY table_name;
