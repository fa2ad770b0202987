"""ORDER BY … LIMIT from the rows that the table has and those that changed, without reading all others again.

Any other row comes behind the last one of the table: the new first rows are right if enough do not come behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import TARGET, WEIGHT, PlanColumn
from snowmelt.ivm.changes import Change, ChangeRules, weighted, with_value
from snowmelt.ivm.rendering import total_order
from snowmelt.ivm.trees import column_of, number

LAST = "__last"
_MOST_ROWS = 10_000
_COMPARED = {Kind.NUMBER, Kind.VARCHAR, Kind.DATE, Kind.BOOLEAN, Kind.TIMESTAMP_NTZ}
"""Kinds for which a computed value equals the stored one exactly if it is the same."""


@dataclass(frozen=True, slots=True)
class TopRows:
    """Rows in their order, each with how often it occurs. One of them marks where the table ended."""

    query: exp.Select
    """With the ids of the columns, the weight, and `LAST`, which is 1 for that one."""
    names: tuple[tuple[str, str], ...]
    """The table's names, and the ids."""
    count: int

    def indexes(self, weights: Sequence[int], last: Sequence[int]) -> list[int] | None:
        """The positions of the rows that the table gets, repeated for duplicates; None if these rows do not suffice."""
        chosen: list[int] = []
        for position, (weight, ended) in enumerate(zip(weights, last, strict=True)):
            if len(chosen) == self.count:
                break
            if ended:
                return None
            chosen += [position] * min(weight, self.count - len(chosen))
        return chosen


def top_rows(
    rules: ChangeRules, change: Change, columns: Sequence[PlanColumn], order: Sequence[exp.Expr], limit: int,
    names: Mapping[str, str],
) -> TopRows | None:  # fmt: skip
    """The first rows of an order, given how what is ordered changed; `names` has the table's names by id, of those
    columns that it has."""
    if not 0 < limit <= _MOST_ROWS or not all(
        c.id in names and c.type is not None and c.type.kind in _COMPARED for c in columns
    ):
        return None
    renderer, ids = rules.renderer, [column.id for column in columns]

    def present() -> exp.Select:
        return renderer.of_table(TARGET, columns, [names[id_] for id_ in ids])

    rows = renderer.united([with_value(present(), WEIGHT, 1), change.query.copy()], [*ids, WEIGHT])
    there = with_value(weighted(renderer.of(rules.netted(rows, columns), columns)), LAST, 0)
    there.set("where", exp.Where(this=exp.GT(this=column_of(WEIGHT), expression=number(0))))
    total = exp.Order(expressions=total_order(order, columns))
    end = renderer.of(present(), columns)
    end.set("order", total)
    end.set("limit", exp.Limit(expression=number(1)))
    end.set("offset", exp.Offset(expression=number(limit - 1)))
    ended = with_value(with_value(renderer.of(end, columns), WEIGHT, 0), LAST, 1)
    both = renderer.united([there, ended], [*ids, WEIGHT, LAST])
    # Behind the rows that equal the last one: they are not behind it.
    both.set("order", exp.Order(expressions=[*total.copy().expressions, exp.Ordered(this=column_of(LAST))]))
    both.set("limit", exp.Limit(expression=number(limit + 1)))
    return TopRows(both, tuple((names[id_], id_) for id_ in ids), limit)
