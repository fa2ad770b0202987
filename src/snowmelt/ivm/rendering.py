"""From the algebra back to Spark SQL: the rows of a node at the old or the new versions of its tables.

A restriction says which of them are needed: those whose keys are in a stage. This is what keeps a small change small.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, PlanColumn, When, all_of, equal_columns
from snowmelt.ivm.states import GroupState
from snowmelt.ivm.trees import column_of, mapped, quoted, same
from snowmelt.sql.dialect import copied
from snowmelt.sql.notes import note_of

_Node = TypeVar("_Node", bound="RowSource")
RenderedRows = tuple[exp.Select, bool]
"""Rows, and whether the restriction holds for all of them: pushing it down may lose a part."""
Known = Mapping[str, tuple[str, str]]
"""Where the values of columns are found, by id: a stage or the changes of a table, and the name there."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """Only the rows whose columns are, NULLs included, in some row of a stage."""

    stage: str
    pairs: tuple[tuple[str, str], ...]
    """Ids of the node's columns, and the names of the stage's."""

    def only(self, ids: frozenset[str] | set[str]) -> Restriction | None:
        pairs = tuple(pair for pair in self.pairs if pair[0] in ids)
        return Restriction(self.stage, pairs) if pairs else None

    def covers(self, other: Restriction) -> bool:
        """Whether it says all that the other one says."""
        return self.stage == other.stage and set(self.pairs) >= set(other.pairs)

    def renamed(self, names: Mapping[str, str]) -> Restriction | None:
        pairs = tuple((names[own], theirs) for own, theirs in self.pairs if own in names)
        return Restriction(self.stage, pairs) if pairs else None

    def spread(self, conditions: Sequence[exp.Expr]) -> Restriction:
        """The restriction with the columns that are equal to restricted ones, as far as that goes."""
        pairs = dict(self.pairs)
        grown = True
        while grown:
            grown = False
            for condition in conditions:
                equal = equal_columns(condition)
                for one, other in (equal, equal[::-1]) if equal is not None else ():
                    if one in pairs and other not in pairs:
                        pairs[other] = pairs[one]
                        grown = True
        return Restriction(self.stage, tuple(pairs.items()))


@dataclass(frozen=True, slots=True)
class ScanOrigin:
    """The table that a node only filters and projects."""

    scan: object
    """The node that reads it."""
    table: str
    names: Mapping[str, str]
    """The table's names by the ids of the scan."""
    columns: Mapping[str, str]
    """The scan's ids by those of the node, where they come through unchanged."""
    searched: bool = True
    """Whether rows that are read of it can be found by key."""
    selectivity: int = 0
    """How much the filters promise: an equality (2) more than another condition (1)."""


class RowSource(Protocol):
    """What rendering needs of an operator."""

    @property
    def columns(self) -> tuple[PlanColumn, ...]: ...

    @property
    def ids(self) -> frozenset[str]: ...

    def origin(self) -> ScanOrigin | None: ...

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows: ...


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows by key, of one side of a table or of a state: what storage may find by itself, without an engine."""

    source: str
    """What plans call it."""
    columns: tuple[tuple[str, str], ...]
    """Ids, and the names in the source."""
    relation: str
    """A stage, or the changes of a table, that has the keys."""
    pairs: tuple[tuple[str, str], ...]
    """Names in the source, and in the relation."""
    conditions: tuple[exp.Expr, ...] = ()
    """Over the ids: rows that do not meet them are not needed, and do no harm."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a refresh: a named query that later ones read."""

    name: str
    purpose: str
    query: exp.Select
    lookup: Lookup | None = None
    """The same as the query, if it is no more than that."""


class PlanLookups:
    def __init__(self, changed: frozenset[str]) -> None:
        self.stages: list[Stage] = []
        self.narrowed: set[str] = set()
        """Stages of rows that were looked up and meet conditions too: the fewest rows to go on with."""
        self._changed = changed
        self._known: dict[tuple[str, tuple[str, ...], Restriction, tuple[exp.Expr, ...]], str] = {}
        self._last: dict[tuple[int, When], str] = {}

    def add(self, purpose: str, query: exp.Select, name: str | None = None, lookup: Lookup | None = None) -> str:
        """Adds a stage, under a number if it has no name."""
        stage = Stage(name or f"s{len(self.stages) + 1}", purpose, query, lookup)
        self.stages.append(stage)
        return stage.name

    def side(self, table: str, when: When) -> When:
        """Which side of a table is read: those of a table that did not change are the same."""
        return when if table in self._changed else When.NEW

    def look_up(
        self, source: str, names: Mapping[str, str], restriction: Restriction, query: exp.Select,
        conditions: tuple[exp.Expr, ...] = (),
    ) -> str:  # fmt: skip
        """The stage with the rows of a source that the restriction leaves; `names` has the source's names by id.

        Of these rows only those count that meet the conditions.
        """
        known = (source, tuple(names), restriction, conditions)
        if known not in self._known:
            pairs = tuple((names[own], theirs) for own, theirs in restriction.pairs)
            lookup = Lookup(source, tuple(names.items()), restriction.stage, pairs, conditions)
            self._known[known] = self.add(f"rows of {source} by key", query, lookup=lookup)
            self.narrowed |= {self._known[known]} if conditions else set()
        return self._known[known]

    def remember(self, scan: object, side: When, stage: str) -> None:
        """Notes that rows of a scan were just looked up."""
        self._last[id(scan), side] = stage

    def forget(self) -> None:
        """What another term looked up is only a part of the rows that the next one needs."""
        self._last.clear()

    def found(self, node: RowSource, when: When) -> Known:
        """Where the values of a node's columns are found, if its rows were just looked up by key."""
        origin = node.origin()
        if origin is None:
            return {}
        stage = self._last.get((id(origin.scan), self.side(origin.table, when)))
        return {own: (stage, below) for own, below in origin.columns.items()} if stage is not None else {}


class PlanRenderer:
    """`changed` names the tables whose old and new versions differ; `instants` are what the clock says at each."""

    def __init__(
        self,
        changed: frozenset[str],
        instants: Mapping[When, datetime],
        states: Mapping[int, GroupState] | None = None,
    ) -> None:
        self._instants = instants
        self._numbers = count(1)
        self.states = states or {}
        """The states of operators, by the identity of their nodes."""
        self.lookups = PlanLookups(changed)
        self.grows: Callable[[Any], bool] = lambda _: False
        """Whether this refresh adds to the state of an operator; asked before its new rows are read."""

    def rows(self, node: RowSource, when: When, restriction: Restriction | None = None) -> exp.Select:
        """The node's rows, restricted."""
        query, exact = self.some_rows(node, when, restriction)
        if restriction is None or exact:
            return query
        return self.restricted(self.of(query, node.columns), restriction)

    def some_rows(self, node: RowSource, when: When, restriction: Restriction | None) -> RenderedRows:
        """The node's rows, with as much of the restriction as goes below it."""
        return node.rows(self, when, restriction)

    def alias(self) -> str:
        return f"t{next(self._numbers)}"

    def source(self, tree: exp.Expr) -> exp.Expr:
        """A table or query, ready for FROM."""
        alias = exp.TableAlias(this=quoted(self.alias()))
        if isinstance(tree, exp.Table):
            tree.set("alias", alias)
            return tree
        return exp.Subquery(this=tree, alias=alias)

    def of(self, source: exp.Expr, columns: Sequence[PlanColumn], names: Sequence[str] | None = None) -> exp.Select:
        """SELECT columns FROM a table or query in which they may have other names."""
        origin = names or [column.id for column in columns]
        values = [named(column_of(name), column.id) for name, column in zip(origin, columns, strict=True)]
        return select_from(self.source(source), values)

    def of_table(self, table: str, columns: Sequence[PlanColumn], names: Sequence[str] | None = None) -> exp.Select:
        """The same of a table, a stage or a state by its name."""
        return self.of(exp.Table(this=quoted(table)), columns, names)

    def grouped(self, keys: Sequence[PlanColumn], values: Sequence[exp.Expr], below: exp.Expr) -> exp.Select:
        """The values of each group."""
        query = select_from(self.source(below), [*selected(keys), *map(copied, values)])
        if keys:
            query.set("group", exp.Group(expressions=[key.ref for key in keys]))
        return query

    def united(self, branches: Sequence[exp.Select], names: Sequence[str]) -> exp.Select:
        """UNION ALL, as a SELECT."""
        if len(branches) == 1:
            return branches[0]
        tree: exp.Query = branches[0]
        for branch in branches[1:]:
            tree = exp.Union(this=tree, expression=branch, distinct=False)
        return select_from(self.source(tree), [named(column_of(name), name) for name in names])

    def restricted(self, query: exp.Select, restriction: Restriction) -> exp.Select:
        """Only those rows of a query that are in the restriction's stage."""
        alias = self.alias()
        mine = query.args["from_"].this.alias
        query.set("expressions", [
            named(column_of(item.alias, mine), item.alias) for item in query.expressions
        ])  # fmt: skip
        on = all_of([
            same(column_of(own, mine), column_of(theirs, alias))
            for own, theirs in restriction.pairs
        ])  # fmt: skip
        keys = exp.Table(this=quoted(restriction.stage), alias=exp.TableAlias(this=quoted(alias)))
        query.set("joins", [exp.Join(this=keys, side="LEFT", kind="SEMI", on=on)])
        return query

    def at(self, tree: exp.Expr, when: When) -> exp.Expr:
        """The expression with what the clock said at that side."""
        if not moves(tree):
            return copied(tree)

        def change(node: exp.Expr) -> exp.Expr | None:
            clock = note_of(node).clock
            return clock(self._instants[when]) if clock is not None else None

        return mapped(tree, change)


def moves(tree: exp.Expr) -> bool:
    """Whether the expression depends on the clock."""
    return any(note_of(node).clock is not None for node in tree.walk())


def total_order(order: Sequence[exp.Expr], columns: Sequence[PlanColumn]) -> list[exp.Expr]:
    """The order, and all other columns behind it: equal rows come in the same order each time."""
    given = [item.copy() for item in order]
    known = {item.this.name for item in given if isinstance(item.this, exp.Column)}
    rest = [column for column in columns if column.id not in known and not column.is_variant]
    return [*given, *(exp.Ordered(this=column.ref, nulls_first=True) for column in rest)]


def select_from(source: exp.Expr, values: Sequence[exp.Expr]) -> exp.Select:
    """A SELECT that is made of these values themselves, not of copies."""
    return exp.select(*values).from_(source, copy=False)


def named(tree: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(tree, quoted(name), copy=False)


def selected(columns: Sequence[PlanColumn], *, weighted: bool = False) -> list[exp.Expr]:
    """Columns under their own ids, and the weight where rows have one."""
    weight: list[exp.Expr] = [column_of(WEIGHT)] if weighted else []
    return [*(named(column.ref, column.id) for column in columns), *weight]


def restriction_by(
    node: RowSource, conditions: Sequence[exp.Expr], known: Known, narrowed: Container[str] = ()
) -> Restriction | None:
    """Only the rows that can equal what is known, in the columns for which one relation has most of the values."""
    found: dict[str, dict[str, str]] = {}
    pairs = [(own, own) for own in known if own in node.ids]
    for own, theirs in (*pairs, *_equal_pairs(conditions, node.ids, frozenset(known))):
        relation, name = known[theirs]
        found.setdefault(relation, {})[own] = name
    if not found:
        return None
    relation = max(found, key=lambda one: (len(found[one]), one in narrowed))
    return Restriction(relation, tuple(found[relation].items()))


def nearest(
    waiting: Sequence[tuple[_Node, When]], conditions: Sequence[exp.Expr], known: Known, narrowed: Container[str]
) -> tuple[tuple[_Node, When], Restriction | None]:
    """The next part to join: one that can be restricted by what is known, and that has conditions of its own."""
    for item in sorted(waiting, key=lambda one: -origin.selectivity if (origin := one[0].origin()) else 0):
        restriction = restriction_by(item[0], conditions, known, narrowed)
        if restriction is not None:
            return item, restriction
    return waiting[0], None


def _equal_pairs(
    conditions: Sequence[exp.Expr], own: frozenset[str], theirs: frozenset[str]
) -> tuple[tuple[str, str], ...]:
    """Pairs of columns, one of each side, that must be equal."""
    pairs: dict[str, str] = {}
    for condition in conditions:
        equal = equal_columns(condition)
        for one, other in (equal, equal[::-1]) if equal is not None else ():
            if one in own and other in theirs:
                pairs.setdefault(one, other)
    return tuple(pairs.items())
