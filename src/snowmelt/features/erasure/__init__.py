"""Forgetting a person: found by lineage and by value, removed from all that is kept, and searched for again.

Not here: what names a person and how a query is turned around (`govern/erasure`), removing old versions
(`features/upkeep`), rows at destinations (`extract_load/forgetting.py`).
"""
