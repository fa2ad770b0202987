"""The engine: Spark's session and the quick lane, and which of them computes a query.

Belongs here: starting Spark, reading tables in it, running queries, stopping them. Not here: statements of users, and
what a table means.
"""
