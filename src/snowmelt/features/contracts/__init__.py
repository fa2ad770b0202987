"""Contracts as objects of a schema, and what holds tables and views to them."""
