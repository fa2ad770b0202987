"""Lineage of the account: from definitions in the catalog, and from what statements wrote.

Not here: the graph and its pictures (`snowmelt.govern.lineage`).
"""
