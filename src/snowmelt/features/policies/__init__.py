"""Policies: what a role sees of rows and values that it may read.

Not here: how a policy becomes part of a query (`snowmelt.sql.policies`), and who asks for it (`runtime.resolver`).
"""
