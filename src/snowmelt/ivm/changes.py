"""From the signed changes of tables to those of a view: what the rules of the operators are made of.

A change is a query with the node's columns and a weight: how often a row came (above 0) or went (below 0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, PlanColumn, When, table_name
from snowmelt.ivm.rendering import PlanRenderer, Restriction, RowSource, moves
from snowmelt.ivm.trees import call, column_of, number, quoted


@dataclass(frozen=True, slots=True)
class TableChange:
    """What is known of how a table changed."""

    inserts_only: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    query: exp.Select
    inserts_only: bool = False
    stage: str | None = None
    """Set when the query only reads this stage."""


class Changing(RowSource, Protocol):
    """What the rules need of an operator."""

    @property
    def tables(self) -> frozenset[str]: ...

    @property
    def moves(self) -> bool: ...

    def change(self, rules: ChangeRules) -> Change | None: ...

    def grow(self, rules: ChangeRules) -> bool: ...


class ChangeRules:
    """The changes of one refresh. Each node's own rule says how it changes; here is what the rules share."""

    def __init__(self, renderer: PlanRenderer, changes: Mapping[str, TableChange], *, time_moved: bool) -> None:
        self.renderer = renderer
        self.lookups = renderer.lookups
        self.tables = changes
        self._time_moved = time_moved
        self._known: dict[int, Change | None] = {}
        self._grown: dict[int, bool] = {}
        renderer.grows = self.grows

    def change(self, node: Changing) -> Change | None:
        """How the node's rows changed; None when they surely did not."""
        if id(node) not in self._known:
            touched = bool(node.tables & self.tables.keys()) or self._moves(node)
            self._known[id(node)] = node.change(self) if touched else None
        return self._known[id(node)]

    def grows(self, node: Changing) -> bool:
        """Whether the refresh adds to the node's state; then there is a stage with what it adds."""
        if id(node) not in self._grown:
            self._grown[id(node)] = node.grow(self)
        return self._grown[id(node)]

    def _moves(self, node: Changing) -> bool:
        """Whether the node's rows may change by time alone."""
        return self._time_moved and node.moves

    def passes_with_time(self, *conditions: exp.Expr) -> bool:
        """Whether rows that did not change may pass a condition now and not before, or the other way round."""
        return self._time_moved and any(map(moves, conditions))

    def difference(self, node: Changing, keys: Restriction | None = None) -> Change:
        """The change as a difference: the rows now, less the rows before."""
        terms = []
        for when, weight in ((When.NEW, 1), (When.OLD, -1)):
            rows = self.renderer.of(self.renderer.rows(node, when, keys), node.columns)
            terms.append(with_value(rows, WEIGHT, weight))
        return Change(self.sum(terms, node.columns))

    def sum(self, terms: Sequence[exp.Select], columns: Sequence[PlanColumn]) -> exp.Select:
        return self.renderer.united(list(terms), [*(column.id for column in columns), WEIGHT])

    def distinct_keys(self, purpose: str, change: exp.Select, columns: Sequence[PlanColumn]) -> Restriction:
        """To the values that the columns have in a change, which become a stage."""
        pairs = tuple((column, f"k{position}") for position, column in enumerate(columns, 1))
        query = exp.select(*[exp.alias_(column.ref, quoted(name)) for column, name in pairs])
        query = query.from_(self.renderer.source(change))
        query.set("distinct", exp.Distinct())
        return Restriction(self.lookups.add(purpose, query), tuple((column.id, name) for column, name in pairs))

    def partitions_changed(
        self, node: Changing, columns: Sequence[PlanColumn], own: Sequence[PlanColumn]
    ) -> Restriction | None:
        """To the values of own columns that changed rows of a node have in its columns; None when none did."""
        change = self.change(node)
        if change is None:
            return None
        found = self.distinct_keys("partitions that changed", change.query, columns)
        pairs = zip(own, found.pairs, strict=True)
        return Restriction(found.stage, tuple((column.id, name) for column, (_, name) in pairs))

    def key_columns(self, node: Changing, change: Change) -> dict[str, tuple[str, str]]:
        """Where the values of a changed node's columns are found: in the changes of its table, or in a stage.

        The table's changes may have more of them than the node lets through, which does no harm.
        """
        origin = node.origin()
        if origin is not None and not self._moves(node):
            source = table_name(origin.table, "change")
            return {own: (source, origin.names[below]) for own, below in origin.columns.items()}
        stage = self.keep(node, change)
        return {column.id: (stage, column.id) for column in node.columns}

    def latest(self, node: Changing, change: Change) -> Change:
        """The change as it is now: perhaps it became a stage meanwhile."""
        return self._known.get(id(node)) or change

    def keep(self, node: Changing, change: Change) -> str:
        """Makes the change a stage of its own, netted: what came and went again is gone."""
        if change.stage is not None:
            return change.stage
        query = change.query if change.inserts_only else self.netted(change.query, node.columns)
        name = self.lookups.add(f"changes of {tables_in(node)}", query)
        source = weighted(self.renderer.of_table(name, node.columns))
        self._known[id(node)] = Change(source, change.inserts_only, name)
        return name

    def netted(self, query: exp.Select, columns: Sequence[PlanColumn]) -> exp.Select:
        """Equal rows as one, with the sum of their weights; those that cancel out are gone."""
        total = call("sum", column_of(WEIGHT))
        grouped = exp.select(*[
            exp.alias_(call("any_value", c.ref) if c.is_variant else c.ref, quoted(c.id)) for c in columns
        ], exp.alias_(total, quoted(WEIGHT)))  # fmt: skip
        grouped = grouped.from_(self.renderer.source(query))
        keys: list[exp.Expr] = [column.ref for column in columns if not column.is_variant]
        for column in columns:
            if column.is_variant:
                keys += [call("to_json", column.ref), call("schema_of_variant", column.ref)]
        grouped.set("group", exp.Group(expressions=keys))
        grouped.set("having", exp.Having(this=exp.NEQ(this=total.copy(), expression=number(0))))
        return grouped


def weighted(query: exp.Select) -> exp.Select:
    return query.select(column_of(WEIGHT), copy=False)


def with_value(query: exp.Select, name: str, value: int) -> exp.Select:
    """The query with a column that has the same number in every row."""
    return query.select(exp.alias_(number(value), quoted(name)), copy=False)


def tables_in(node: Changing) -> str:
    """The tables below a node, as purposes of stages name them."""
    return ", ".join(sorted(node.tables)) or "constants"
