-- What the tasks did in the last hour, and what they failed with.
SELECT
  name,
  COUNT_IF(state = 'SUCCEEDED') AS succeeded,
  COUNT_IF(state LIKE 'FAILED%') AS failed,
  COUNT_IF(state = 'SKIPPED') AS skipped,
  AVG(IFF(state = 'SUCCEEDED', DATEDIFF('millisecond', query_start_time, completed_time), NULL)) AS mean_ms,
  MAX(completed_time) AS last_completed,
  MAX_BY(error_message, scheduled_time) AS last_error
FROM TABLE(INFORMATION_SCHEMA.TASK_HISTORY(
  SCHEDULED_TIME_RANGE_START => DATEADD('hour', -1, CURRENT_TIMESTAMP()), RESULT_LIMIT => 10000
))
WHERE schema_name = CURRENT_SCHEMA()
GROUP BY name
ORDER BY name;
