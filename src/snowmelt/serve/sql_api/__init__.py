"""Snowflake's SQL REST API (`/api/v2/statements`): statements by plain HTTP, without a session. No other address."""
