"""The SELECT list: computed columns of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from snowmelt.ivm.algebra import Fresh, Item, PlanColumn, When, columns_in, ids_of, passed
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.operators.base import (
    Hoisted,
    Identified,
    Identify,
    Joined,
    Operator,
    OuterDomain,
    Passage,
    Unary,
    Unfolding,
)
from snowmelt.ivm.rendering import (
    PlanRenderer,
    RenderedRows,
    Restriction,
    ScanOrigin,
    moves,
    named,
    select_from,
    selected,
)
from snowmelt.ivm.trees import substituted


@dataclass(frozen=True, eq=False)
class Project(Unary):
    words = ""
    items: tuple[Item, ...]

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return tuple(item.column for item in self.items)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(item.value for item in self.items)

    @cached_property
    def _plain(self) -> dict[str, str]:
        """The input's ids, by its own, of the columns that come through unchanged."""
        return {item.column.id: item.value.name for item in self.items if isinstance(item.value, exp.Column)}

    def _projected(
        self, renderer: PlanRenderer, below: exp.Select, when: When, *, weighted: bool = False
    ) -> exp.Select:
        items = [named(renderer.at(item.value, when), item.column.id) for item in self.items]
        return select_from(renderer.source(below), [*items, *selected((), weighted=weighted)])

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        inside = restriction.renamed(self._plain) if restriction is not None else None
        below, exact = renderer.some_rows(self.input, when, inside)
        whole = restriction is None or (inside is not None and len(inside.pairs) == len(restriction.pairs))
        return self._projected(renderer, below, when), exact and whole

    def change(self, rules: ChangeRules) -> Change | None:
        change = rules.change(self.input)
        if change is None:
            return None
        return Change(self._projected(rules.renderer, change.query, When.NEW, weighted=True), change.inserts_only)

    def _wanted(self, needed: set[str]) -> tuple[Item, ...]:
        """At least one column, where only the rows count."""
        return tuple(item for item in self.items if item.column.id in needed) or self.items[:1]

    def needs(self, needed: set[str], below: Operator) -> Iterable[str]:
        return columns_in(*(item.value for item in self._wanted(needed)))

    def pruned(self, needed: set[str], inputs: Sequence[Operator]) -> Operator:
        return Project(inputs[0], self._wanted(needed))

    def inexact(self, found: set[str]) -> Iterable[str]:
        return {item.column.id for item in self.items if columns_in(item.value) & found}

    def passage(self) -> Passage:
        below = self.input.passage()
        names = {theirs: own for own, theirs in self._plain.items()}
        return replace(below, names={own: names[there] for own, there in below.names.items() if there in names})

    def unique_by(self, conditions: Sequence[exp.Expr]) -> tuple[PlanColumn, ...] | None:
        values = {item.column.id: item.value for item in self.items}
        below = self.input.unique_by([substituted(condition, values) for condition in conditions])
        own = {there: item.column for item in reversed(self.items) if (there := self._plain.get(item.column.id))}
        return tuple(own[c.id] for c in below) if below is not None and ids_of(below) <= own.keys() else None

    def unfold(self, block: Unfolding, *, top: bool) -> None:
        block.values |= {item.column.id: item.value for item in self.items}
        self.input.unfold(block, top=top)

    def origin(self) -> ScanOrigin | None:
        below = self.input.origin()
        if below is None:
            return None
        columns = {own: below.columns[there] for own, there in self._plain.items() if there in below.columns}
        return replace(below, columns=columns)

    def first_row(self, condition: exp.Expr, inexact: frozenset[str]) -> Operator | None:
        values = {item.column.id: item.value for item in self.items}
        below = self.input.first_row(substituted(condition, values), inexact)
        return self.over([below]) if below is not None else None

    def keys_below(
        self, rules: ChangeRules, keys: tuple[PlanColumn, ...]
    ) -> tuple[Operator, tuple[PlanColumn, ...]] | None:
        if any(column.id not in self._plain for column in keys):
            return None
        return self.input.keys_below(rules, tuple(PlanColumn(self._plain[column.id], column.type) for column in keys))

    def hoisted(self, free: frozenset[str]) -> Hoisted | None:
        below = self.input.hoist()
        if below is None or columns_in(*self.expressions) & free:
            return None
        node, conditions = below
        needed = columns_in(*conditions) - self.ids
        return Project(node, (*self.items, *passed(c for c in node.columns if c.id in needed))), conditions

    def joined_with(self, domain: OuterDomain) -> Joined:
        below, names = domain.join(self.input)
        items = [Item(item.column, names.put_into(item.value)) for item in self.items]
        return Project(below, (*items, *passed(names.values()))), names

    def value_for(self, outer: Operator, fresh: Fresh) -> Hoisted | None:
        below = self.input.value_for(outer, fresh)
        if below is None:
            return None
        node, guards = below
        kept = [column for column in node.columns if column.id not in self.ids]
        return Project(node, (*passed(kept), *self.items)), guards

    def filtered_below(self, condition: exp.Expr, make: Callable[[Operator, exp.Expr], Operator]) -> Operator | None:
        """Where the condition names a value that moves with the clock (QUALIFY makes one): below it is a filter, which
        knows how to find the rows that come and go with time, and the value itself is not needed any more."""
        values = {item.column.id: item.value for item in self.items}
        if not any(name in values and moves(values[name]) for name in columns_in(condition)):
            return None
        return self.over([make(self.input, substituted(condition, values))])

    def identified(self, identify: Identify) -> Identified:
        below, columns = identify(self.input)
        items = tuple(Item(identify.fresh(), column.ref) for column in columns)
        return Project(below, (*self.items, *items)), tuple(item.column for item in items)


def only(node: Operator, columns: Sequence[PlanColumn]) -> Operator:
    """The node with exactly these columns, in order."""
    exactly = [column.id for column in node.columns] == [column.id for column in columns]
    return node if exactly else Project(node, passed(columns))
