"""Queries that must agree with each other: SQLancer's oracles (ternary logic partitioning, NoREC) over random queries.

A condition is TRUE, FALSE or NULL for each row. So the rows of a query are those of its three parts, whatever the query
is, and whatever engine computes it: nobody has to know the right answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.ivm.duck import Columns
from tests.ivm.randomcalls import Output
from tests.ivm.randomsql import Generator


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A FROM clause, what is selected from it, and a condition over it."""

    sources: str
    items: tuple[str, ...]
    columns: tuple[Output, ...]
    condition: str

    @property
    def conditions(self) -> tuple[str, str, str]:
        return self.condition, f"NOT ({self.condition})", f"({self.condition}) IS NULL"

    @property
    def listed(self) -> str:
        return ", ".join(f"{item} AS {column.name}" for item, column in zip(self.items, self.columns, strict=True))

    def select(self, where: str | None = None, *, distinct: bool = False) -> str:
        word = "SELECT DISTINCT" if distinct else "SELECT"
        return f"{word} {self.listed} FROM {self.sources}" + (f" WHERE {where}" if where else "")


class PartitionGenerator(Generator):
    def __init__(self, rnd: random.Random, tables: Mapping[str, Columns]) -> None:
        super().__init__(rnd, tables)

    def partitioned(self, depth: int) -> Partitioned:
        sources, scope = self._from(depth)
        items = [self._item(scope, code, exact=True) for code in self._codes(None, scope)]
        columns = tuple(Output(self._name("C"), code) for _, code, _ in items)
        condition = self._condition(scope, depth)
        return Partitioned(sources, tuple(text for text, _, _ in items), columns, condition)


def _rows(query: Partitioned) -> tuple[str, str]:
    return query.select(), " UNION ALL ".join(query.select(part) for part in query.conditions)


def _distinct(query: Partitioned) -> tuple[str, str]:
    parts = " UNION ".join(query.select(part, distinct=True) for part in query.conditions)
    return query.select(distinct=True), parts


def _counted(query: Partitioned) -> tuple[str, str]:
    """NoREC: a condition that selects, and one that is only counted, which nobody can optimise."""
    where = f"SELECT COUNT(*) AS n FROM {query.sources} WHERE {query.condition}"
    return where, f"SELECT COUNT_IF({query.condition}) AS n FROM {query.sources}"


def _grouped(query: Partitioned) -> tuple[str, str]:
    first = query.columns[0].name
    sums = f"{first}, COUNT(*) AS n, MIN({first}) AS least"
    whole = f"SELECT {sums} FROM ({query.select()}) q GROUP BY {first}"
    parts = " UNION ALL ".join(
        f"SELECT {sums} FROM ({query.select(part)}) q GROUP BY {first}" for part in query.conditions
    )
    return whole, f"SELECT {first}, SUM(n) AS n, MIN(least) AS least FROM ({parts}) p GROUP BY {first}"


def _total(query: Partitioned) -> tuple[str, str]:
    first = query.columns[0].name
    totals = f"COUNT(*) AS n, MAX({first}) AS most"
    parts = " UNION ALL ".join(f"SELECT {totals} FROM ({query.select(part)}) q" for part in query.conditions)
    return f"SELECT {totals} FROM ({query.select()}) q", f"SELECT SUM(n) AS n, MAX(most) AS most FROM ({parts}) p"


ORACLES: dict[str, Callable[[Partitioned], tuple[str, str]]] = {
    "rows": _rows, "distinct": _distinct, "norec": _counted, "grouped": _grouped, "total": _total,
}  # fmt: skip
"""Two queries each that must give the same rows."""
