-- Are the dynamic tables within their lag?
SELECT
  name,
  target_lag_sec,
  mean_lag_sec,
  maximum_lag_sec,
  time_within_target_lag_ratio,
  last_completed_refresh_state
FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLES())
WHERE schema_name = CURRENT_SCHEMA()
ORDER BY name;

-- What did their refreshes do, and how long did they take?
SELECT
  name,
  refresh_action,
  state,
  COUNT(*) AS refreshes,
  AVG(DATEDIFF('millisecond', refresh_start_time, refresh_end_time)) AS mean_ms,
  MAX(state_message) AS message
FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(RESULT_LIMIT => 10000))
WHERE schema_name = CURRENT_SCHEMA()
GROUP BY name, refresh_action, state
ORDER BY name, refresh_action, state;
