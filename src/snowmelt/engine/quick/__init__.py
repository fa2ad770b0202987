"""The quick lane: queries over few rows, computed inside this process and equal to what Spark would give.

Belongs here: the list of what the lane can do (types, casts, operators, functions, aggregates), each written in
DuckDB's words so that the result is Spark's; and running such a query. Does not belong here: deciding what a query
means, which `sql` did, and everything large, which is Spark's.
"""
