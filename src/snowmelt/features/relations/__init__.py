"""Databases, schemas, tables, views, sequences, warehouses and sessions: what their statements do."""
