"""Parts of DataFrames that need no DataFrame: columns under aliases, and what a join is by."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core.names import quote
from snowmelt.projects import errors as project_errors
from snowmelt.projects.columns import ColumnExpression, identifier, stored_name

Known = tuple[tuple[str | None, str], ...]
"""Columns with the alias that they are found under."""


def owned(alias: str | None, name: str) -> exp.Column:
    return exp.Column(this=identifier(name), table=identifier(alias) if alias is not None else None)


def join_keys(on: ColumnExpression | str | Sequence[str | ColumnExpression] | None) -> list[str]:
    """The names of a join by names; empty for a join by conditions."""
    given = [on] if isinstance(on, str) else on if isinstance(on, list | tuple) else []
    return [stored_name(item) for item in given if isinstance(item, str)]


def join_condition(on: ColumnExpression | str | Sequence[str | ColumnExpression]) -> exp.Expr:
    items = [on] if isinstance(on, ColumnExpression) else [item for item in on if isinstance(item, ColumnExpression)]
    return exp.and_(*(item.tree for item in items))


def together(
    left: Known | None,
    right: Known | None,
    keys: Sequence[str],
) -> Known | None:
    """The columns of a join; those that it joins by are there once."""
    if left is None or right is None:
        return None
    for key in keys:
        if any(key not in {name for _, name in side} for side in (left, right)):
            raise project_errors.project(f"Column {quote(key)} of a join is not on both sides.")
    others = [(alias, name) for alias, name in (*left, *right) if name not in keys]
    return (*((None, key) for key in keys), *others)
