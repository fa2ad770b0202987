"""The catalog and its history: what exists, which version of each table is visible, what ran."""
