"""INSERT … VALUES (…, DEFAULT, …): the keyword gives way to what the column's definition says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import CatalogObject, Column, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def with_defaults(run: Run, table: CatalogObject, tree: exp.Expr, columns: Sequence[str] | None) -> exp.Expr:
    """The rows with a value in place of every DEFAULT. Anything but VALUES is returned as it is."""
    if not isinstance(tree, exp.Values) or not any(_is_default(cell) for row in tree.expressions for cell in _of(row)):
        return tree
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    known = {column.name: column for column in definition.columns}
    names = list(columns) if columns is not None else list(known)
    for row in tree.expressions:
        cells = _of(row)
        if len(cells) != len(names):
            raise errors.value_list_mismatch(len(names), len(cells))
        for name, cell in zip(names, cells, strict=True):
            if _is_default(cell):
                if name not in known:
                    raise errors.invalid_identifier(quote(name), 1, 0)
                cell.replace(_default(run, table, known[name]))
    return tree


def _of(row: exp.Expr) -> list[exp.Expr]:
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _is_default(cell: exp.Expr) -> bool:
    return isinstance(cell, exp.Var) and cell.name.upper() == "DEFAULT"


def _default(run: Run, table: CatalogObject, column: Column) -> exp.Expr:
    if column.identity is not None:
        with run.state.begin() as state:
            identity = column.identity
            number = state.counters.take(table.id, column.name, 1, identity.start, identity.step)
        literal = exp.Literal.number(abs(number))
        return exp.Neg(this=literal) if number < 0 else literal
    return parse_snowflake(column.default) if column.default is not None else exp.Null()
