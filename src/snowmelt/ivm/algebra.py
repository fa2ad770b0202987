"""Columns and the expressions over them, which all operators are made of, and what plans call things.

Columns have ids that are unique in a whole view, so that expressions name them without a qualifier and self joins
never clash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.sql.dialect import copied

WEIGHT = "__w"
"""The column of a change that says how often its row came (above 0) or went (below 0)."""
TARGET = "__target"
"""The table as it is, under the names of its columns."""
IDENTITY = "__identity"
"""The column of a table that tells its rows apart, and how the names of such outputs begin."""
Tables = Mapping[str, tuple[tuple[str, DataType], ...]]
"""The columns of each table that a query may scan, by the name it has in the query."""


class When(StrEnum):
    OLD = "old"
    NEW = "new"


def table_name(table: str, when: When | str) -> str:
    """One side of a table: `old`, `new` or `change`."""
    return f"{table}__{when}"


@dataclass(frozen=True, slots=True)
class PlanColumn:
    id: str
    type: DataType | None = None
    """None when nobody noted it: a computed key or argument, never VARIANT."""

    @property
    def ref(self) -> exp.Column:
        return exp.Column(this=exp.Identifier(this=self.id, quoted=True))

    @property
    def is_variant(self) -> bool:
        return self.type is not None and self.type.is_semi_structured


@dataclass(frozen=True, slots=True)
class Item:
    """A computed column."""

    column: PlanColumn
    value: exp.Expr


Fresh = Callable[[DataType | None], PlanColumn]
"""Makes a column with an id of its own."""


def passed(columns: Iterable[PlanColumn]) -> tuple[Item, ...]:
    """Columns as they are."""
    return tuple(Item(column, column.ref) for column in columns)


def ids_of(columns: Iterable[PlanColumn]) -> frozenset[str]:
    return frozenset(column.id for column in columns)


def columns_in(*trees: exp.Expr) -> frozenset[str]:
    """The ids that expressions name."""
    return frozenset(column.name for tree in trees for column in tree.find_all(exp.Column))


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """What must all hold, as a flat list."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if isinstance(condition, exp.And):
        return [*conjuncts(condition.this), *conjuncts(condition.expression)]
    return [condition]


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*map(copied, conditions), copy=False) if conditions else exp.true()


def equal_columns(condition: exp.Expr) -> tuple[str, str] | None:
    """The two ids of `a = b`, where both sides are plain columns."""
    if isinstance(condition, exp.EQ | exp.NullSafeEQ):
        left, right = condition.this, condition.expression
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            return left.name, right.name
    return None
