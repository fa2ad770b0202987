"""The relations that a query reads, as far as they can be told without a catalog."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from snowmelt.sql import spark_frames
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.boundaries import Parts, parts_of


def tables_in(tree: exp.Expr) -> set[Parts]:
    """The names of the relations that a query reads, as written; names of its WITH clauses are none."""
    return {*_tables(tree, frozenset()), *(parts for call in spark_frames.calls(tree) for parts in call.reads)}


def _tables(node: exp.Expr, known: frozenset[str]) -> Iterator[Parts]:
    if isinstance(node, exp.Table):
        # None for table functions, stages and the like, which are no relations of the catalog.
        parts = parts_of(node)
        if parts is not None and (len(parts) > 1 or parts[0] not in known):
            yield parts
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        for item in clause.expressions:
            name = fold_identifier(item.args["alias"].this)
            # Only a recursive one can read itself: otherwise the name inside is that of a table.
            yield from _tables(item.this, known | {name} if clause.args.get("recursive") else known)
            known |= {name}
    for key, value in node.args.items():
        if key == "with_":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                yield from _tables(child, known)
