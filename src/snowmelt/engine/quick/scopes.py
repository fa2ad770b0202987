"""What the parts of a query know of each other: its relations, the names that it sees, and who translates the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from snowmelt.engine.quick.types import NotQuick, SparkType
from snowmelt.engine.quick.values import Value

Bound = Value | Mapping[str, Value]
"""What a lambda's parameter stands for: a value, or values by their fields."""


@dataclass(frozen=True, slots=True)
class QuickRelation:
    """What stands in FROM: DuckDB's text, and the columns c0, c1, … that it has, by their names in the query."""

    sql: str
    columns: tuple[tuple[str, SparkType], ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    """Columns of types that the lane does not have, with the reason. They have no number."""


@dataclass(frozen=True, slots=True)
class DuckQuery:
    """DuckDB's text of a query whose columns are c0, c1, …"""

    sql: str
    columns: tuple[tuple[str, SparkType], ...]

    def cast_to(self, targets: Sequence[SparkType]) -> str:
        if [type_ for _, type_ in self.columns] == list(targets):
            return self.sql
        values = [
            f"c{index}" if type_ == target else f"CAST(c{index} AS {target.duck}) AS c{index}"
            for index, ((_, type_), target) in enumerate(zip(self.columns, targets, strict=True))
        ]
        return f"SELECT {', '.join(values)} FROM ({self.sql})"


@dataclass(slots=True)
class QuickSource:
    alias: str
    columns: dict[str, tuple[str, SparkType]]
    refused: Mapping[str, str]

    def values(self) -> list[tuple[str, Value]]:
        return [(name, Value(f"{self.alias}.{own}", type_)) for name, (own, type_) in self.columns.items()]


@dataclass(slots=True)
class QuickScope:
    """The relations of a SELECT by their aliases, and those around it."""

    outer: QuickScope | None = None
    sources: dict[str, QuickSource] = field(default_factory=dict)
    reached_into: bool = False
    """Whether a subquery refers to these relations."""

    def column(self, table: str, name: str) -> tuple[Value, int]:
        """The column, and how many queries further out it was found."""
        scope: QuickScope | None = self
        distance = 0
        while scope is not None:
            found = scope._own(table, name)
            if found is not None:
                scope.reached_into = scope.reached_into or distance > 0
                return found, distance
            scope, distance = scope.outer, distance + 1
        raise NotQuick(f"the name {name}")

    def starred(self, item: exp.Expr) -> list[QuickSource]:
        """The relations whose columns `*` stands for, or `t.*`."""
        table = item.text("table")
        if table and table not in self.sources:
            raise NotQuick(f"the name {table}")
        return [self.sources[table]] if table else list(self.sources.values())

    def _own(self, table: str, name: str) -> Value | None:
        sources = [self.sources[table]] if table in self.sources else [] if table else list(self.sources.values())
        for source in sources:
            if name in source.refused:
                raise NotQuick(source.refused[name])
        found = [(source.alias, *source.columns[name]) for source in sources if name in source.columns]
        if len(found) > 1:
            raise NotQuick(f"two columns {name}")
        return Value(f"{found[0][0]}.{found[0][1]}", found[0][2]) if found else None


class Subqueries(Protocol):
    """Translates the queries inside an expression."""

    def inner(self, node: exp.Expr, outer: QuickScope | None) -> DuckQuery: ...


class Translator(Protocol):
    """Translates the expressions inside a call."""

    bound: Mapping[str, Bound]

    def value(self, node: exp.Expr) -> Value: ...

    def condition(self, node: exp.Expr) -> str: ...
