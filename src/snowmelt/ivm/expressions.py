"""Expressions of a SELECT: names become ids, and queries inside (scalar, EXISTS, IN) become joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.ivm.algebra import Item, PlanColumn, Tables, all_of
from snowmelt.ivm.operators.aggregate import Aggregate
from snowmelt.ivm.operators.base import Operator
from snowmelt.ivm.operators.filter import Filter
from snowmelt.ivm.operators.inner_join import InnerJoin, inner_join
from snowmelt.ivm.operators.join import Join, JoinKind
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.subqueries import Decorrelation
from snowmelt.ivm.trees import call, is_null, is_subquery, mapped, number, unwrapped

LAMBDA_PREFIX = "sm_"
"""What the translation calls the parameters of the lambdas it writes."""
Replaced = Mapping[exp.Expr, exp.Expr]
"""What stands for expressions that were computed below, as they were written."""


@dataclass(frozen=True, slots=True)
class View:
    """A query as algebra."""

    root: Operator
    outputs: tuple[tuple[str, PlanColumn], ...]
    """The names of the result's columns, in order."""

    @property
    def columns(self) -> tuple[PlanColumn, ...]:
        return tuple(column for _, column in self.outputs)


@dataclass(slots=True)
class PlanScope:
    """What an expression may name: the columns of the sources, then those of the query around."""

    parent: PlanScope | None = None
    sources: dict[str, dict[str, PlanColumn]] = field(default_factory=dict)

    def find(self, table: str, name: str) -> PlanColumn | None:
        scope: PlanScope | None = self
        while scope is not None:
            if table:
                found = scope.sources.get(table, {}).get(name)
            else:
                found = next((columns[name] for columns in scope.sources.values() if name in columns), None)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def rename(self, columns: Mapping[str, PlanColumn]) -> None:
        for source in self.sources.values():
            for key, column in source.items():
                source[key] = columns.get(column.id, column)


class Lowerer(Protocol):
    """Lowers a whole query. Modules that lower parts of queries call it for subqueries."""

    tables: Tables
    decorrelation: Decorrelation

    def fresh(self, type_: DataType | None = None) -> PlanColumn: ...

    def query(self, tree: exp.Expr, outer: PlanScope | None, ctes: Mapping[str, View]) -> View: ...


class Expressions:
    """What a SELECT has so far, and the expressions over it."""

    def __init__(self, lowerer: Lowerer, outer: PlanScope | None, ctes: Mapping[str, View]) -> None:
        self.lowerer = lowerer
        self.ctes = ctes
        self.scope = PlanScope(outer)
        self.parts: list[Operator] = []
        """What FROM has, to be joined by the conditions as soon as one node is needed."""
        self.conditions: list[exp.Expr] = []

    @property
    def node(self) -> Operator:
        if len(self.parts) > 1 or self.conditions:
            conditions, self.conditions = self.conditions, []
            plain = [self.expression(condition) for condition in conditions]
            self.node = inner_join(self.parts, plain)
        return self.parts[0]

    @node.setter
    def node(self, node: Operator) -> None:
        self.parts = [node]

    def expression(self, tree: exp.Expr, replaced: Replaced | None = None) -> exp.Expr:
        """The tree with ids for names; queries inside are joined to the node and become columns of it."""

        def change(node: exp.Expr) -> exp.Expr | None:
            if replaced and node in replaced:
                return replaced[node].copy()
            if isinstance(node, exp.Column):
                return self._column(node)
            return self._value(node, replaced or {}) if is_subquery(node) else None

        return mapped(tree, change)

    def _column(self, node: exp.Column) -> exp.Expr:
        found = self.scope.find(node.table, node.name)
        if found is None and (node.table or node.name).startswith(LAMBDA_PREFIX):
            # A parameter of a function inside a function: a name for Spark, not a column.
            name: exp.Expr = exp.to_identifier(node.name)
            return exp.Dot(this=exp.to_identifier(node.table), expression=name) if node.table else name
        if found is None:
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, node.name, "Name a column of a table in FROM.")
        return found.ref

    def _inner(self, tree: exp.Expr) -> View:
        return self.lowerer.query(tree, self.scope, self.ctes)

    def _value(self, node: exp.Expr, replaced: Replaced) -> exp.Expr:
        if isinstance(node, exp.Subquery):
            inner = self._inner(node.this)
            value, column = inner.root, inner.columns[0]
        elif isinstance(node, exp.Exists):
            inner = self._inner(node.this)
            rows, column = self.lowerer.fresh(), self.lowerer.fresh()
            counted = Aggregate(inner.root, (), (Item(rows, call("count", number(1))),))
            value = Project(counted, (Item(column, exp.GT(this=rows.ref, expression=number(0))),))
        else:
            assert isinstance(node, exp.In)
            value, column = self._in_value(node, replaced)
        self.node, tree = self.lowerer.decorrelation.scalar(self.node, value, column)
        return tree

    def _in_value(self, test: exp.In, replaced: Replaced) -> tuple[Operator, PlanColumn]:
        """IN as a value, TRUE, FALSE or NULL: by counting equal, unknown and all rows."""
        pairs, inner = self._membership(test, replaced)
        hits, unknown, column = self.lowerer.fresh(), self.lowerer.fresh(), self.lowerer.fresh()
        both = all_of(pairs)
        counts = Item(hits, call("count_if", both)), Item(unknown, call("count_if", is_null(exp.Paren(this=both))))
        positive = [exp.GT(this=counted.ref, expression=number(0)) for counted in (hits, unknown)]
        tree = exp.Case(
            ifs=[exp.If(this=positive[0], true=exp.true()), exp.If(this=positive[1], true=exp.null())],
            default=exp.false(),
        )
        return Project(Aggregate(inner.root, (), counts), (Item(column, tree),)), column

    def _membership(self, test: exp.In, replaced: Replaced) -> tuple[list[exp.EQ], View]:
        """The query of IN, and the equalities of its columns and the values that are looked for."""
        left = unwrapped(test.this)
        parts = left.expressions if isinstance(left, exp.Tuple) else [left]
        values = [_tight(self.expression(part, replaced)) for part in parts]
        inner = self._inner(test.args["query"])
        return [exp.EQ(this=v, expression=c.ref) for v, c in zip(values, inner.columns, strict=True)], inner

    def filter(self, conditions: Iterable[exp.Expr], replaced: Replaced) -> None:
        for condition in conditions:
            if not self._filter_by_query(unwrapped(condition), replaced):
                tree = self.expression(condition, replaced)
                self.node = Filter(self.node, tree)

    def _filter_by_query(self, condition: exp.Expr, replaced: Replaced) -> bool:
        """Whether the condition is EXISTS or IN, perhaps with NOT, which a semi or anti join decides."""
        negated = isinstance(condition, exp.Not)
        test = unwrapped(condition.this) if negated else condition
        kind = JoinKind.ANTI if negated else JoinKind.SEMI
        if isinstance(test, exp.Exists):
            inner = self._inner(test.this)
            self.node = self.lowerer.decorrelation.filtered(kind, self.node, inner.root, [])
            return True
        if not isinstance(test, exp.In) or not is_subquery(test):
            return False
        pairs, inner = self._membership(test, replaced)
        if negated:
            self._not_in(inner, pairs)
        else:
            self.node = self.lowerer.decorrelation.filtered(kind, self.node, inner.root, pairs)
        return True

    def _not_in(self, inner: View, pairs: list[exp.EQ]) -> None:
        if len(pairs) > 1 or inner.root.free_ids:
            # A row stays out unless it is certain that all values differ.
            maybe = [exp.Paren(this=exp.or_(pair, is_null(pair.this), is_null(pair.expression))) for pair in pairs]
            self.node = self.lowerer.decorrelation.filtered(JoinKind.ANTI, self.node, inner.root, maybe)
            return
        # The same, joined by equality. A NULL among the values keeps all rows out; our NULL passes only an empty list.
        pair, value = pairs[0], inner.columns[0].ref
        rows, nulls = self.lowerer.fresh(), self.lowerer.fresh()
        none, known = self.lowerer.fresh(), self.lowerer.fresh()
        counts = Item(rows, call("count", number(1))), Item(nulls, call("count_if", is_null(value)))
        zero = [exp.EQ(this=column.ref, expression=number(0)) for column in (rows, nulls)]
        facts = Project(Aggregate(inner.root, (), counts), (Item(none, zero[0]), Item(known, zero[1])))
        kept = Join(JoinKind.ANTI, self.node, inner.root, pair)
        ours = exp.or_(exp.Not(this=is_null(pair.this)), none.ref)
        self.node = InnerJoin((kept, facts), (known.ref, exp.Paren(this=ours)))


def _tight(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=tree) if isinstance(tree, exp.Binary | exp.Unary) else tree
