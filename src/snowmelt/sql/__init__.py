"""Snowflake SQL: split, parse, bind names and types, and say it in Spark SQL."""
