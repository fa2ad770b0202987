"""From a bound Spark query to the algebra."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.ivm.algebra import Fresh, Item, PlanColumn, Tables, passed
from snowmelt.ivm.blocks import SelectBlock, constant
from snowmelt.ivm.expressions import PlanScope, View
from snowmelt.ivm.operators.aggregate import Aggregate
from snowmelt.ivm.operators.base import Operator
from snowmelt.ivm.operators.filter import Filter
from snowmelt.ivm.operators.project import Project, only
from snowmelt.ivm.operators.union import Union
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.subqueries import Decorrelation
from snowmelt.ivm.trees import call, number


def lower(query: exp.Expr, tables: Tables) -> View:
    """The algebra of a bound query. Raises `NotIncrementalError` for what it has no operator for."""
    return finished(*lowered(query, tables))


def lowered(query: exp.Expr, tables: Tables) -> tuple[View, Fresh]:
    """The algebra as the query has it, with columns that nobody needs and without states; and what makes columns."""
    lowering = Lowering(tables)
    view = lowering.query(query, None, {})
    root, columns = view.root, view.columns
    if len({column.id for column in columns}) < len(columns) or len(root.columns) != len(columns):
        root = Project(root, passed(columns))
    if root.free_ids:
        raise _left_over(query)
    return View(root, view.outputs), lowering.fresh


def finished(view: View, fresh: Fresh) -> View:
    """What plans are made of."""
    return View(pruned(_with_states(pruned(view.root), fresh)), view.outputs)


def _left_over(query: exp.Expr) -> NotIncrementalError:
    """The error for a subquery that uses columns of an outer query in a way that no rule handles."""
    outer = [join.args.get("on") for join in query.find_all(exp.Join) if join.side]
    if any(on is not None and on.find(exp.Query) is not None for on in outer):
        what, instead = "correlated subquery in ON of an outer join", "Join the subquery's table in FROM instead."
    elif query.find(exp.GroupingSets, exp.Cube, exp.Rollup) is not None:
        what, instead = "subquery over grouping sets", "Put the grouping sets into a subquery in FROM."
    else:
        what, instead = "correlated subquery", "Write the subquery as a join."
    return NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, what, instead)


def pruned(root: Operator) -> Operator:
    """The same rows; every node makes only the columns that are needed above it.

    Needs are gathered from the root down over all uses of a node, so that a shared node stays one.
    """
    nodes = list(root.walk())
    needs: dict[int, set[str]] = {id(node): set() for node in nodes}
    needs[id(root)] |= root.ids
    for node in reversed(nodes):
        for below in node.inputs:
            needs[id(below)] |= below.ids.intersection(node.needs(needs[id(node)], below))
    done: dict[int, Operator] = {}
    for node in nodes:
        done[id(node)] = node.pruned(needs[id(node)], [done[id(below)] for below in node.inputs])
    return done[id(root)]


def _with_states(root: Operator, fresh: Fresh) -> Operator:
    """The same rows, by operators that keep states where that can be."""
    done: dict[int, Operator] = {}
    for node in root.walk():
        inputs = [done[id(below)] for below in node.inputs]
        changed = any(own is not other for own, other in zip(node.inputs, inputs, strict=True))
        made = node.over(inputs) if changed else node
        done[id(node)] = made.with_state(fresh, root.inexact_ids) or made
    return done[id(root)]


class Lowering:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._numbers = count(1)
        self.decorrelation = Decorrelation(self.fresh)

    def fresh(self, type_: DataType | None = None) -> PlanColumn:
        return PlanColumn(f"c{next(self._numbers)}", type_)

    def query(self, tree: exp.Expr, outer: PlanScope | None, ctes: Mapping[str, View]) -> View:
        while isinstance(tree, exp.Subquery) and tree.args.get("with_") is None:
            tree = tree.this
        with_ = tree.args.get("with_")
        if with_ is not None:
            if with_.args.get("recursive"):
                raise NotIncrementalError(
                    Reason.UNSUPPORTED_OPERATOR, "recursive query (WITH RECURSIVE, CONNECT BY)",
                    "One changed row may change any level: it is computed anew.",
                )  # fmt: skip
            ctes = dict(ctes)
            for cte in with_.expressions:
                ctes[cte.alias] = self.query(cte.this, outer, ctes)
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this, outer, ctes)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(
                tree, self.query(tree.this, outer, ctes), self.query(tree.expression, outer, ctes)
            )
        if isinstance(tree, exp.Select):
            names = _names_of_values(tree)
            return constant(tree, names, self.fresh) if names else SelectBlock(self, outer, ctes).lower(tree)
        raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, type(tree).__name__.upper(), "Write it as a SELECT.")

    def _set_operation(self, tree: exp.SetOperation, left: View, right: View) -> View:
        outputs = tuple((name, self.fresh(column.type)) for name, column in left.outputs)
        columns = tuple(column for _, column in outputs)
        if isinstance(tree, exp.Union):
            both: Operator = Union((only(left.root, left.columns), only(right.root, right.columns)), columns)
            return View(Aggregate(both, columns, ()) if tree.args.get("distinct") else both, outputs)
        return View(self._counted_sides(tree, left, right, columns), outputs)

    def _counted_sides(
        self, tree: exp.SetOperation, left: View, right: View, columns: tuple[PlanColumn, ...]
    ) -> Operator:
        """INTERSECT and EXCEPT: every distinct row with how often each side has it."""
        side = self.fresh()
        branches = tuple(
            Project(lowered.root, (*passed(lowered.columns), Item(self.fresh(), number(position))))
            for position, lowered in enumerate((left, right))
        )
        both = Union(branches, (*columns, side))
        counts = [self.fresh(), self.fresh()]
        items = tuple(
            Item(counted, call("count_if", exp.EQ(this=side.ref, expression=number(position))))
            for position, counted in enumerate(counts)
        )
        test = exp.GT if isinstance(tree, exp.Intersect) else exp.EQ
        tests = [exp.GT(this=counts[0].ref, expression=number(0)), test(this=counts[1].ref, expression=number(0))]
        return Project(Filter(Aggregate(both, columns, items), exp.and_(*tests)), passed(columns))


def _names_of_values(tree: exp.Select) -> list[str]:
    """The columns of VALUES with computed cells, which the translation writes as an array that is unfolded."""
    call = tree.expressions[0] if len(tree.expressions) == 1 else None
    if not isinstance(call, exp.Anonymous) or call.name != "inline":
        return []
    first = next((n for n in tree.find_all(exp.Anonymous) if n.name == "named_struct"), None)
    return [name.name for name in first.expressions[::2]] if first is not None else []
