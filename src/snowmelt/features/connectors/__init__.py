"""Connectors: declared with SQL, run beside the statements, landing a source's changes in tables."""
