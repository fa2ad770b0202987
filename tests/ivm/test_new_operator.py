"""A new operator is one class: DISTINCT ON, which Snowflake has not, is defined here and nowhere else. It stands in for
the DISTINCT of ordinary queries, below and above all others, and is compared with DuckDB's own DISTINCT ON.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import pytest
from sqlglot import exp

from snowmelt.ivm.algebra import PlanColumn, When, ids_of
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.expressions import View as Lowered
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.operators.aggregate import Aggregate
from snowmelt.ivm.operators.base import Operator, Unary
from snowmelt.ivm.plan import ApplyKind, RefreshPlanner
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, selected, total_order
from snowmelt.ivm.trees import quoted
from tests.ivm.duck import View, duck_sql
from tests.ivm.randomdata import random_changes, random_rows
from tests.ivm.test_incremental_fixed import TABLES, assert_right


@dataclass(frozen=True, eq=False)
class DistinctOn(Unary):
    """The first row of each key, by all columns."""

    words: ClassVar[str] = "DISTINCT ON"
    keys: tuple[PlanColumn, ...]

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(column.ref for column in self.columns)

    @property
    def group_keys(self) -> tuple[PlanColumn, ...]:
        return self.keys

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        below, exact = self.rows_below(renderer, when, restriction, ids_of(self.keys))
        number = exp.Window(
            this=exp.Anonymous(this="row_number"),
            partition_by=[key.ref for key in self.keys],
            order=exp.Order(expressions=total_order([], self.columns)),
        )
        numbered = exp.select(*selected(self.columns), exp.alias_(number, quoted("number")))
        first = renderer.of(numbered.from_(renderer.source(below)), self.columns)
        return first.where(exp.column(quoted("number")).eq(1)), exact

    def affected(self, rules: ChangeRules) -> Restriction | None:
        change = rules.change(self.input)
        return rules.distinct_keys("keys that changed", change.query, self.keys) if change is not None else None

    def change(self, rules: ChangeRules) -> Change | None:
        keys = self.affected(rules)
        return rules.difference(self, keys) if keys is not None else None


QUERIES = {
    "SELECT DISTINCT K, A, B FROM T": ApplyKind.REPLACE,
    "SELECT B, A FROM (SELECT DISTINCT K, A, B FROM T)": ApplyKind.BAG,
    "SELECT * FROM (SELECT DISTINCT A, S, D FROM T WHERE B > 0) WHERE S <> 'a'": ApplyKind.REPLACE,
    "SELECT A, COUNT(*) AS N, SUM(Z) AS Z FROM (SELECT DISTINCT K, A, Z FROM T) GROUP BY A": ApplyKind.REPLACE,
    "SELECT DISTINCT A, N FROM (SELECT A, K, COUNT(*) AS N FROM T GROUP BY A, K)": ApplyKind.REPLACE,
    "SELECT U.C, F.A FROM U LEFT JOIN (SELECT DISTINCT K, A FROM T) F ON F.K = U.K": ApplyKind.BAG,
    "SELECT F.K, F.A, W.D FROM (SELECT DISTINCT K, A FROM T) F JOIN W ON W.A = F.A": ApplyKind.BAG,
    "SELECT K FROM U WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT K, A FROM T) F WHERE F.A = U.A)": ApplyKind.BAG,
}


class DistinctOnView(View):
    """Every DISTINCT is one ON its first column, here and in what the table is compared with."""

    def _planner(self) -> RefreshPlanner:
        view = lower(self.bound.tree, self.tables)
        return RefreshPlanner(Lowered(_replaced(view.root), view.outputs))

    def _original(self) -> str:
        tree = self.bound.tree.copy()
        for select in list(tree.find_all(exp.Select)):
            if select.args.get("distinct") is not None:
                first, *_ = select.expressions
                select.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[first.unalias().copy()])))
                places = range(1, len(select.expressions) + 1)
                order = [exp.Ordered(this=exp.Literal.number(place), nulls_first=True) for place in places]
                select.set("order", exp.Order(expressions=order))
        names = ", ".join(f'"{name}"' for name in self.names)
        return f"SELECT {names} FROM ({duck_sql(tree)})"


def _replaced(root: Operator) -> Operator:
    done: dict[int, Operator] = {}
    for node in root.walk():
        made = node.over([done[id(below)] for below in node.inputs])
        if isinstance(made, Aggregate) and not made.items:
            made = DistinctOn(made.input, made.keys[:1])
        done[id(node)] = made
    return done[id(root)]


def operators_in(view: View) -> Iterable[type[Operator]]:
    return {type(node) for node in view.planner.view.root.walk()}


@pytest.mark.parametrize("states", [False, True], ids=["recomputed", "states"])
@pytest.mark.parametrize(("query", "kind"), QUERIES.items())
def test_it_is_maintained_among_all_others(query: str, kind: ApplyKind, states: bool) -> None:
    rnd = random.Random(query)
    rows = {name: random_rows(rnd, columns) for name, columns in TABLES.items()}
    view = DistinctOnView(query, TABLES, rows, states=states)
    assert DistinctOn in operators_in(view)
    used = {name: TABLES[name] for name in sorted(view.planner.view.root.tables)}
    kinds = set()
    for step in range(8):
        view.refresh(random_changes(rnd, used, view.rows))
        assert view.last is not None
        kinds.add(view.last.kind)
        assert_right(view, (query, step))
    assert kind in kinds, kinds
