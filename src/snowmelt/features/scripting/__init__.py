"""Running Snowflake Scripting: blocks, procedures, EXECUTE IMMEDIATE.

Not here: the words of the language and their parser (`snowmelt.sql.scripting`).
"""
