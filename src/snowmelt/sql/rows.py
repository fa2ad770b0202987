"""Rows written out in a statement, as a relation for Spark."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.dialect import identifier, string

_CONSTANT = (exp.Literal, exp.Var, exp.Null, exp.Boolean, exp.Neg, exp.Paren, exp.Cast, exp.DataType, exp.DataTypeParam)


def bind_rows(expressions: BindsExpressions, node: exp.Values) -> tuple[exp.Select, list[tuple[str, str, DataType]]]:
    """The rows of VALUES as a query, and its columns: name, key and type. The values of a column get one type."""
    rows = [
        [expressions.bind(cell) for cell in (row.expressions if isinstance(row, exp.Tuple) else [row])]
        for row in node.expressions
    ]
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise errors.compilation("001969", "42601", "all rows of VALUES must have the same number of columns")
    cells: list[list[exp.Expr]] = [[] for _ in rows]
    columns: list[tuple[str, str, DataType]] = []
    for index in range(width):
        casted, type_ = expressions.same_type([row[index] for row in rows])
        for row, cell in enumerate(casted):
            cells[row].append(cell.tree)
        columns.append((f"COLUMN{index + 1}", f"COLUMN{index + 1}", type_))
    names = [key for _, key, _ in columns]
    return exp.select(*[exp.column(identifier(name)) for name in names]).from_(rows_relation(cells, names)), columns


def rows_relation(cells: list[list[exp.Expr]], names: list[str]) -> exp.Expr:
    """The relation with these rows. Spark's VALUES takes constants alone: not what may fail, nor what is random."""
    if all(isinstance(part, _CONSTANT) for row in cells for cell in row for part in cell.walk()):
        alias = exp.TableAlias(this=identifier("__v"), columns=[identifier(name) for name in names])
        return exp.Values(expressions=[exp.Tuple(expressions=row) for row in cells], alias=alias)
    structs = [
        exp.Anonymous(
            this="named_struct",
            expressions=[part for name, cell in zip(names, row, strict=True) for part in (string(name), cell)],
        )
        for row in cells
    ]
    # The rows are made below the generator, which must not hold anything random itself.
    rows = exp.select(exp.alias_(exp.Anonymous(this="array", expressions=structs), identifier("__rows")))
    source = exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier("__r")))
    opened = exp.select(exp.Anonymous(this="inline", expressions=[exp.column(identifier("__rows"))])).from_(source)
    return exp.Subquery(this=opened, alias=exp.TableAlias(this=identifier("__v")))
