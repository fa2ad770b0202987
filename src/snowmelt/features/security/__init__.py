"""Users, roles and grants: their statements.

Not here: what checks rights (`snowmelt.runtime.rights`).
"""
