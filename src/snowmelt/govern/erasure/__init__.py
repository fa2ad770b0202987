"""Forgetting a person: what names one, and what of a query comes from the rows that do. No account, no files."""
