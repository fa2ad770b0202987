"""Databases, schemas, tables, views, sequences, warehouses and sessions: what their statements do.

Not here: any other feature; they subscribe to what happens to relations.
"""
