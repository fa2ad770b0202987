"""Contracts as objects of a schema, and what holds tables and views to them.

Not here: what a contract promises and how it is compared (`snowmelt.govern`).
"""
