"""Keeping tables and records small and quick while the server runs. See `docs/design/upkeep.md`.

Not here: compaction of one table's files (`snowmelt.storage`).
"""
