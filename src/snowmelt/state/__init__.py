"""The catalog and its history: what exists, which version of each table is visible, what ran.

Not here: decisions, and records of one feature alone, which stand in its room (`state[Repository]`).
"""
