"""Data contracts: documents of the Open Data Contract Standard, how they change, and what satisfies them."""
