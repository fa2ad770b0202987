"""Running Snowflake Scripting: blocks, procedures, EXECUTE IMMEDIATE."""
