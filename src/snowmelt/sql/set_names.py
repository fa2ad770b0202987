"""UNION BY NAME: the columns of two queries brought together by their names."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.bound import BoundQuery, OutputColumn
from snowmelt.sql.dialect import identifier, spark_type
from snowmelt.sql.notes import typed

_ALIAS = "__n"


def by_name(left: BoundQuery, right: BoundQuery) -> tuple[BoundQuery, BoundQuery]:
    """Both with all columns of both: the left one's first, and NULL for what a side lacks."""
    for side in (left, right):
        names = [column.name for column in side.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise errors.compilation("002025", "42S21", f"UNION BY NAME: duplicate column name '{twice}'")
    known = {column.name for column in left.columns}
    columns = (*left.columns, *[column for column in right.columns if column.name not in known])
    return _with(left, columns), _with(right, columns)


def _with(query: BoundQuery, columns: tuple[OutputColumn, ...]) -> BoundQuery:
    own = {column.name: column for column in query.columns}
    if [column.name for column in query.columns] == [column.name for column in columns]:
        return query
    found = [own.get(column.name, column) for column in columns]
    keys = [column.name for column in columns]
    projections = [
        typed(exp.alias_(_value(column, given=column.name in own), identifier(key)), column.type)
        for column, key in zip(found, keys, strict=True)
    ]
    tree = exp.select(*projections).from_(
        exp.Subquery(this=query.tree, alias=exp.TableAlias(this=identifier(_ALIAS)))
    )  # fmt: skip
    outputs = tuple(replace(column, key=key) for column, key in zip(found, keys, strict=True))
    return replace(query, tree=tree, columns=outputs)


def _value(column: OutputColumn, *, given: bool) -> exp.Expr:
    if given:
        return exp.column(identifier(column.key), table=identifier(_ALIAS))
    return exp.Cast(this=exp.null(), to=spark_type(column.type.spark))
