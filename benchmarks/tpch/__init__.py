"""TPC-H: tables, and the 22 queries with the specification's validation parameters."""
