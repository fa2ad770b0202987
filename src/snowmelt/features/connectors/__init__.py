"""Connectors: declared with SQL, run beside the statements, landing a source's changes in tables.

Not here: Debezium, and reading a source's log (`snowmelt.ingest.cdc`).
"""
