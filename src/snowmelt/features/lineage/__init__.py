"""Lineage of the account: from definitions in the catalog, and from what statements wrote."""
