"""Where an expression stands, and what it may be computed from there: one row, a group of rows, a window.

A binder is made for one row unless it is told otherwise, so that a place nobody thought of refuses aggregates and
windows instead of computing something else with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.bound import position_of
from snowmelt.sql.dialect import as_written


@dataclass(frozen=True, slots=True)
class Clause:
    name: str
    aggregates: bool = False
    windows: bool = False

    def allow_aggregate(self, call: exp.Expr) -> None:
        if not self.aggregates:
            where = position_of(call)
            raise errors.at_position(
                "002078", "42601", where.line, where.position,
                f"Invalid aggregate function in {self.name} [{as_written(call)}]",
            )  # fmt: skip

    def allow_window(self, window: exp.Expr) -> None:
        if not self.windows:
            where = position_of(window.this)
            raise errors.at_position(
                "002303", "42601", where.line, where.position,
                f"Window function [{as_written(window)}] appears in {self.name}, "
                "outside of SELECT, QUALIFY, and ORDER BY clauses.",
            )  # fmt: skip

    def inside_aggregate(self, name: str) -> Clause:
        return Clause(f"the arguments of {name}")

    def inside_window(self) -> Clause:
        """The arguments of a windowed call, and its OVER (…)."""
        return replace(self, name="a window function", windows=False)


ONE_ROW = Clause("an expression over one row")
WHERE = Clause("where clause")
ON = Clause("on clause")
GROUP_BY = Clause("group by clause")
LAMBDA = Clause("a lambda")
HAVING = Clause("having clause", aggregates=True)
SELECTED = Clause("select list", aggregates=True, windows=True)
"""The SELECT list, QUALIFY and ORDER BY."""
ORDER_BY = Clause("order by clause", windows=True)
"""The ORDER BY of a query that does not group."""
MEASURE = Clause("a measure", aggregates=True)
"""One value of all rows."""


def has_window(tree: exp.Expr) -> bool:
    """Whether a bound expression holds a window of its own, not one of a subquery."""
    return any(isinstance(node, exp.Window) for node in tree.walk(prune=lambda item: isinstance(item, exp.Query)))
