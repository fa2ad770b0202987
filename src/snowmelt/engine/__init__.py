"""The Spark session: starting it, reading tables in it, running statements, stopping them.

Not here: statements of users, and what a table means.
"""
