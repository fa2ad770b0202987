"""`groupBy`: what comes between a DataFrame and its aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from sqlglot import exp

from snowmelt.projects.columns import ColumnExpression
from snowmelt.projects.functions import functions


class Groupable(Protocol):
    """What a DataFrame does for its groups."""

    def _here(self, tree: exp.Expr) -> exp.Expr: ...
    def _projected(self, trees: Sequence[exp.Expr], group: Sequence[exp.Expr] = ()) -> Self: ...


_Frame = TypeVar("_Frame", bound=Groupable)


@dataclass(frozen=True, slots=True)
class GroupedData(Generic[_Frame]):
    frame: _Frame
    keys: tuple[exp.Expr, ...]

    def agg(self, *items: ColumnExpression | Mapping[str, str]) -> _Frame:
        given: list[ColumnExpression] = []
        for item in items:
            if isinstance(item, ColumnExpression):
                given.append(item)
            else:
                given += [_aggregate(name, of) for of, name in item.items()]
        trees = [self.frame._here(item.tree) for item in given]
        groups = [key.this if isinstance(key, exp.Alias) else key for key in self.keys]
        return self.frame._projected([*(key.copy() for key in self.keys), *trees], groups)

    def count(self) -> _Frame:
        return self.agg(functions.count("*").alias("count"))

    def sum(self, *names: str) -> _Frame:
        return self.agg(*(_aggregate("sum", name) for name in names))

    def avg(self, *names: str) -> _Frame:
        return self.agg(*(_aggregate("avg", name) for name in names))

    mean = avg

    def min(self, *names: str) -> _Frame:
        return self.agg(*(_aggregate("min", name) for name in names))

    def max(self, *names: str) -> _Frame:
        return self.agg(*(_aggregate("max", name) for name in names))


def _aggregate(name: str, of: str) -> ColumnExpression:
    """Spark calls it `sum(amount)`; a column needs a name that SQL can write, so here it is `SUM_AMOUNT`."""
    call = functions.count(of) if name == "count" else getattr(functions, name)(of)
    assert isinstance(call, ColumnExpression)
    return call.alias(f"{name}_{'all' if of == '*' else of}")
