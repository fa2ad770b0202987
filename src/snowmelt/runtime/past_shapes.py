"""Time travel over changes of a table's columns: old rows under the columns the table has today."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from snowmelt.core.types import DataType
from snowmelt.engine.model import ColumnSource
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Scope
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.state.model import PastColumn, TableDefinition, TableShape


def column_sources(
    environment: Environment, definition: TableDefinition, shape: TableShape
) -> tuple[ColumnSource, ...]:
    """Where each of the table's columns is found in versions of an earlier shape."""
    then = {column.name: column.type for column in shape.definition.columns}
    past = {column.name: column for column in shape.columns}
    sources: list[ColumnSource] = []
    for column in definition.columns:
        found = past.get(column.name)
        if found is not None and found.stored is not None:
            sources.append(ColumnSource(found.stored, then[found.stored]))
        else:
            fill = found.fill if found is not None else None
            sources.append(ColumnSource(None, column.type, _fill(environment, fill, column.type)))
    return tuple(sources)


def _fill(environment: Environment, literal: str | None, type_: DataType) -> str:
    if literal is None:
        return "NULL"
    binder = ExpressionBinder(environment, Scope(), QueryBinder(environment))
    return to_spark_sql(binder.cast(binder.bind(parse_snowflake(literal)), type_).tree)


def fingerprint(sources: Iterable[ColumnSource]) -> str:
    """Tells one way to read a version from another, for names of views that are kept."""
    return hashlib.sha256(repr(tuple(sources)).encode()).hexdigest()[:12]


def carried_on(
    shapes: Iterable[TableShape], renamed: Mapping[str, str], added: Mapping[str, str | None]
) -> list[TableShape]:
    """Past shapes after one more change.

    `renamed` leads from every column that stays to its new name; `added` from each new column to its fill.
    """
    return [
        shape.model_copy(
            update={
                "columns": (
                    *(
                        column.model_copy(update={"name": renamed[column.name]})
                        for column in shape.columns
                        if column.name in renamed
                    ),
                    *(PastColumn(name=name, stored=None, fill=fill) for name, fill in added.items()),
                )
            }
        )
        for shape in shapes
    ]
