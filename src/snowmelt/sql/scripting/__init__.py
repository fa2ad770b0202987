"""Snowflake Scripting: the syntax of blocks, as frozen nodes. Running them is the feature scripting."""
