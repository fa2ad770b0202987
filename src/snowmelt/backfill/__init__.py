"""Rows of a table within a range, derived again: in chunks, resumable, with a way back.

Not here: how a dynamic table is refreshed (`features.dynamic_tables`).
"""
