"""ORDER BY … LIMIT from the rows that the table has and those that changed, without reading all others again.

Whatever is not among them comes behind the last row of the table. So the new first rows are right if enough of them do
not come behind it; if too many went, the order has to be read anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import Column, Limit
from snowmelt.ivm.changes import Rules
from snowmelt.ivm.rendering import WEIGHT, quoted, total_order
from snowmelt.ivm.trees import number

TARGET = "__target"
"""What plans call the table as it is, under the names of its columns."""
LAST = "__last"
_MOST_ROWS = 10_000
_COMPARED = {Kind.NUMBER, Kind.VARCHAR, Kind.DATE, Kind.BOOLEAN, Kind.TIMESTAMP_NTZ}
"""Kinds whose values are equal here exactly if they are in the table."""


@dataclass(frozen=True, slots=True)
class TopRows:
    """Rows in their order with how often each one is there, and among them one that says where the table ended."""

    query: exp.Select
    """With the ids of the columns, the weight, and `LAST`, which is 1 for that one."""
    names: tuple[tuple[str, str], ...]
    """The table's names, and the ids."""
    count: int

    def places(self, weights: Sequence[int], last: Sequence[int]) -> list[int] | None:
        """Which of the query's rows make the table, each as often as it is there; None when that is not known."""
        places: list[int] = []
        for place, (weight, ended) in enumerate(zip(weights, last, strict=True)):
            if len(places) == self.count:
                break
            if ended:
                return None
            places += [place] * min(weight, self.count - len(places))
        return places


def top_rows(rules: Rules, limit: Limit, names: dict[str, str]) -> TopRows | None:
    """`names` has the table's names by id, of those columns that it has."""
    change = rules.change(limit.input)
    known = all(column.id in names and _comparable(column) for column in limit.columns)
    if change is None or not known or limit.offset or limit.count is None or not 0 < limit.count <= _MOST_ROWS:
        return None
    renderer, ids = rules.renderer, [column.id for column in limit.columns]

    def present() -> exp.Select:
        table = exp.Table(this=quoted(TARGET))
        return renderer.of(table, limit.columns, [names[id_] for id_ in ids])

    rows = renderer.united([_with(present(), WEIGHT, 1), change.query.copy()], [*ids, WEIGHT])
    there = renderer.of(rules.netted(rows, limit.columns), limit.columns).select(
        exp.column(quoted(WEIGHT)), exp.alias_(number(0), quoted(LAST)), copy=False
    )
    there.set("where", exp.Where(this=exp.GT(this=exp.column(quoted(WEIGHT)), expression=number(0))))
    order = exp.Order(expressions=total_order(limit.order, limit.columns))
    end = renderer.of(present(), limit.columns)
    end.set("order", order)
    end.set("limit", exp.Limit(expression=number(1)))
    end.set("offset", exp.Offset(expression=number(limit.count - 1)))
    ended = _with(_with(renderer.of(end, limit.columns), WEIGHT, 0), LAST, 1)
    both = renderer.united([there, ended], [*ids, WEIGHT, LAST])
    # Behind the rows that equal the last one: they are not behind it.
    both.set("order", exp.Order(expressions=[*order.copy().expressions, exp.Ordered(this=exp.column(quoted(LAST)))]))
    both.set("limit", exp.Limit(expression=number(limit.count + 1)))
    return TopRows(both, tuple((names[id_], id_) for id_ in ids), limit.count)


def _with(query: exp.Select, name: str, value: int) -> exp.Select:
    return query.select(exp.alias_(number(value), quoted(name)), copy=False)


def _comparable(column: Column) -> bool:
    return column.type is not None and column.type.kind in _COMPARED
