"""Other columns for a table that has rows: what an ALTER TABLE does to its Delta table."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.sql.dialect import identifier


def delta_table(uri: str) -> exp.Table:
    """A Delta table by its place, as Spark SQL names it."""
    return exp.Table(this=identifier(uri), db=identifier("delta"))
