"""Snowflake SQL: split, parse, bind names and types, and say it in Spark SQL.

Not here: the catalog, the session, and the statements of features, which stand in their rooms.
"""
