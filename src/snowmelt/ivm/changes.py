"""One rule for each operator: from the signed changes of its inputs to the signed changes of its output.

A change is a query with the node's columns and a weight: +1 for a row that came, -1 for one that went, other numbers
for several. Rules for rows (projection, filter, joins) are linear in the changed input. Rules for groups (aggregates,
windows) find the keys that changed and compare the groups before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.ivm import extremes
from snowmelt.ivm.algebra import (
    Aggregate,
    Column,
    Constant,
    Filter,
    InnerJoin,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Union,
    Unnest,
    Window,
    conjuncts,
    equal_columns,
)
from snowmelt.ivm.rendering import WEIGHT, Renderer, Restriction, When, moves, quoted, spread, table_name
from snowmelt.ivm.states import State
from snowmelt.ivm.trees import call, number


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


class Rules:
    def __init__(self, renderer: Renderer, changes: Mapping[str, TableChange], *, time_moved: bool) -> None:
        self.renderer = renderer
        self.stages: list[Stage] = []
        self._changes = changes
        self._time_moved = time_moved
        self._known: dict[int, Change | None] = {}
        self._added: dict[str, bool] = {}
        renderer.grows = self.grows
        renderer.finder = self
        self._lookups: dict[tuple[str, tuple[str, ...], Restriction, tuple[exp.Expr, ...]], str] = {}
        self._last_lookup: dict[tuple[int, When], str] = {}
        self._narrowed: set[str] = set()
        """Stages of rows that were looked up and meet conditions too: the fewest rows to go on with."""

    def change(self, node: Node) -> Change | None:
        """How the node's rows changed; None when they surely did not."""
        if id(node) not in self._known:
            self._known[id(node)] = self._change(node) if self._touched(node) else None
        return self._known[id(node)]

    def _touched(self, node: Node) -> bool:
        return bool(node.tables & self._changes.keys()) or self._moves(node)

    def _moves(self, node: Node) -> bool:
        """Whether the node's rows may change by time alone."""
        return self._time_moved and any(moves(tree) for below in node.walk() for tree in below.expressions)

    def _change(self, node: Node) -> Change | None:
        match node:
            case Scan():
                return self._scan(node)
            case Constant():
                return None
            case Project():
                return self._linear(node.input, lambda q: self.renderer.projected(q, node, When.NEW, weighted=True))
            case Filter():
                return self._filter(node)
            case Unnest():
                return self._linear(node.input, lambda q: self.renderer.unnested(q, node, When.NEW, weighted=True))
            case Union():
                return self._union(node)
            case InnerJoin():
                return self._inner(node)
            case Join():
                return self._join(node)
            case Aggregate() | Window():
                return self._by_key(node)
            case Limit():
                return self._difference(node, None)
        raise AssertionError(node)

    # -- rules for rows -------------------------------------------------------------------------------------------

    def _scan(self, node: Scan) -> Change:
        table = exp.Table(this=quoted(table_name(node.table, "change")))
        query = self.renderer.of(table, node.columns, [name for _, name in node.items])
        return Change(_weighted(query), self._changes[node.table].inserts_only)

    def _linear(self, below: Node, operate: Callable[[exp.Select], exp.Select]) -> Change | None:
        change = self.change(below)
        if change is None:
            return None
        return Change(operate(change.query), change.inserts_only)

    def _filter(self, node: Filter) -> Change | None:
        change = self._linear(node.input, lambda q: self.renderer.filtered(q, node, When.NEW, weighted=True))
        if not self.passes_with_time(node.condition):
            return change
        # Rows that were there already, and pass only now, or not any more.
        before, after = (self._is_true(node.condition, when) for when in (When.OLD, When.NEW))
        query = self.renderer.of(self.renderer.rows(node.input, When.OLD), node.columns)
        query.set("where", exp.Where(this=exp.NEQ(this=before, expression=after.copy())))
        sign = exp.Case(ifs=[exp.If(this=after, true=number(1))], default=number(-1))
        moved = query.select(exp.alias_(sign, quoted(WEIGHT)), copy=False)
        terms = [moved] if change is None else [change.query, moved]
        return Change(self._sum(terms, node.columns))

    def passes_with_time(self, condition: exp.Expr) -> bool:
        """Whether rows that did not change may pass the condition now and not before, or the other way round."""
        return self._time_moved and moves(condition)

    def _is_true(self, condition: exp.Expr, when: When) -> exp.Expr:
        return call("coalesce", exp.Paren(this=self.renderer.at(condition, when)), exp.false())

    def _union(self, node: Union) -> Change | None:
        terms: list[exp.Select] = []
        inserts_only = True
        for branch in node.branches:
            change = self.change(branch)
            if change is not None:
                query = self.renderer.of(change.query, node.outputs, [column.id for column in branch.columns])
                terms.append(_weighted(query))
                inserts_only = inserts_only and change.inserts_only
        return Change(self._sum(terms, node.columns), inserts_only) if terms else None

    def _inner(self, node: InnerJoin) -> Change | None:
        """The change of each part with the new rows of the parts before it and the old rows of those behind."""
        terms: list[exp.Select] = []
        inserts_only = True
        for place, part in enumerate(node.parts):
            change = self.change(part)
            if change is None:
                continue
            inserts_only = inserts_only and change.inserts_only
            others = [
                (other, When.NEW if index < place else When.OLD)
                for index, other in enumerate(node.parts)
                if index != place
            ]
            terms.append(self._joined_term(node, part, change, others))
        return Change(self._sum(terms, node.columns), inserts_only) if terms else None

    def _joined_term(
        self, node: InnerJoin, part: Node, change: Change, others: Sequence[tuple[Node, When]]
    ) -> exp.Select:
        """The change joined with the other parts, of which only the rows are read that it can meet."""
        known = self._key_columns(part, change)
        parts = [(self._query(part, change), part.ids | {WEIGHT})]
        conditions = [one for condition in node.conditions for one in conjuncts(condition)]
        waiting = list(others)
        while waiting:
            chosen, restriction = _nearest(waiting, conditions, known, self._narrowed)
            waiting.remove(chosen)
            other, when = chosen
            # What another term looked up is only a part of the rows that this one needs.
            self._last_lookup.clear()
            query = self.renderer.rows(other, when, restriction)
            found = self._looked_up(other, when)
            if restriction is not None and not found:
                name = self.stage(f"rows of {_names(other)} that the changes meet", query)
                query = self.renderer.of(exp.Table(this=quoted(name)), other.columns)
                found = {column.id: (name, column.id) for column in other.columns}
            known.update(found)
            parts.append((query, other.ids))
        return self.renderer.joined(parts, node.conditions, node.columns, When.NEW, weighted=True)

    def restricted_parts(self, node: InnerJoin, when: When, restriction: Restriction) -> list[tuple[exp.Select, bool]]:
        conditions = [one for condition in node.conditions for one in conjuncts(condition)]
        known = {own: (restriction.stage, theirs) for own, theirs in spread(restriction, conditions).pairs}
        found: dict[int, tuple[exp.Select, bool]] = {}
        waiting = [(part, when) for part in node.parts]
        while waiting:
            chosen, inside = _nearest(waiting, conditions, known, self._narrowed)
            waiting.remove(chosen)
            part = chosen[0]
            self._last_lookup.clear()
            query, whole = self.renderer.some_rows(part, when, inside)
            found[id(part)] = query, whole and inside is not None and inside.covers(restriction)
            known.update(self._looked_up(part, when))
        return [found[id(part)] for part in node.parts]

    def _join(self, node: Join) -> Change | None:
        left, right = self.change(node.left), self.change(node.right)
        terms: list[exp.Select] = []
        conditions = conjuncts(node.condition)
        if left is not None:
            known = self._key_columns(node.left, left)
            matches = self.renderer.rows(node.right, When.NEW, _restriction(node.right, conditions, known))
            terms.append(self.renderer.matched(node, self._query(node.left, left), matches, When.NEW, weighted=True))
        if right is not None:
            terms += self._rematched(node, right)
        if not terms:
            return None
        return Change(self._sum(terms, node.columns), left is not None and right is None and left.inserts_only)

    def _rematched(self, node: Join, right: Change) -> list[exp.Select]:
        """The left rows that a change on the right may concern, matched with what is there now, less what was."""
        conditions = conjuncts(node.condition)
        known = self._key_columns(node.right, right)
        kept = self.kept(self._known[id(node.right)] or right, node.right, f"changes of {_names(node.right)}")
        assert kept.stage is not None
        self._last_lookup.clear()
        rows = self.renderer.rows(node.left, When.OLD, _restriction(node.left, conditions, known))
        affected = self.renderer.of(rows, node.left.columns)
        changes = exp.Table(this=quoted(kept.stage))
        join = exp.Join(
            this=self.renderer.source(changes), side="LEFT", kind="SEMI", on=self.renderer.at(node.condition, When.NEW)
        )
        affected.set("joins", [join])
        stage = self.stage(f"rows of {_names(node.left)} that they concern", affected)
        near = self._looked_up(node.left, When.OLD) or {c.id: (stage, c.id) for c in node.left.columns}
        terms = []
        for when, weight in ((When.NEW, 1), (When.OLD, -1)):
            mine = self.renderer.of(exp.Table(this=quoted(stage)), node.left.columns)
            mine = mine.select(exp.alias_(number(weight), quoted(WEIGHT)), copy=False)
            theirs = self.renderer.rows(node.right, when, _restriction(node.right, conditions, near))
            terms.append(self.renderer.matched(node, mine, theirs, when, weighted=True))
        return terms

    # -- rows by key ----------------------------------------------------------------------------------------------

    def _key_columns(self, node: Node, change: Change) -> dict[str, tuple[str, str]]:
        """Where the values of a changed node's columns are found: in the changes of its table, or in a stage.

        The table's changes may have more of them than the node lets through, which does no harm.
        """
        traced = _scanned(node)
        if traced is not None and not self._moves(node):
            scan, columns = traced
            names = {column.id: name for column, name in scan.items}
            return {id_: (table_name(scan.table, "change"), names[own]) for id_, own in columns.items()}
        kept = self.kept(change, node, f"changes of {_names(node)}")
        assert kept.stage is not None
        return {column.id: (kept.stage, column.id) for column in node.columns}

    def _query(self, node: Node, change: Change) -> exp.Select:
        """The change as it is now: perhaps it became a stage meanwhile."""
        return (self._known.get(id(node)) or change).query

    def _looked_up(self, node: Node, when: When) -> dict[str, tuple[str, str]]:
        """Where the values of a node's columns are found, if its rows were just looked up by key."""
        traced = _scanned(node)
        if traced is None:
            return {}
        scan, columns = traced
        side = when if scan.table in self._changes else When.NEW
        stage = self._last_lookup.get((id(scan), side))
        return {id_: (stage, own) for id_, own in columns.items()} if stage is not None else {}

    def look_up(self, scan: Scan, side: When, restriction: Restriction, conditions: Sequence[exp.Expr]) -> str:
        names = {column.id: name for column, name in scan.items}
        still = tuple(condition for condition in conditions if not moves(condition))
        query = self.renderer.looked_up(scan, side, restriction, still)
        stage = self._found(table_name(scan.table, side), names, restriction, query, still)
        self._last_lookup[id(scan), side] = stage
        return stage

    def look_up_state(self, state: State, names: Sequence[str], restriction: Restriction, query: exp.Select) -> str:
        return self._found(state.stored, {name: name for name in names}, restriction, query)

    def _found(
        self, source: str, names: Mapping[str, str], restriction: Restriction, query: exp.Select,
        conditions: tuple[exp.Expr, ...] = (),
    ) -> str:  # fmt: skip
        """The stage with the rows of a source that the restriction leaves; `names` has the source's names by id."""
        known = (source, tuple(names), restriction, conditions)
        if known not in self._lookups:
            pairs = tuple((names[own], theirs) for own, theirs in restriction.pairs)
            lookup = Lookup(source, tuple(names.items()), restriction.stage, pairs, conditions)
            self._lookups[known] = f"s{len(self.stages) + 1}"
            self.stages.append(Stage(self._lookups[known], f"rows of {source} by key", query, lookup))
            self._narrowed |= {self._lookups[known]} if conditions else set()
        return self._lookups[known]

    # -- rules for groups -----------------------------------------------------------------------------------------

    def _by_key(self, node: Aggregate | Window) -> Change | None:
        keys = self.affected(node)
        if keys is None:
            return None
        if isinstance(node, Aggregate) and not node.keys:
            return self._difference(node, None)
        if isinstance(node, Aggregate) and not node.items and id(node) not in self.renderer.states:
            change = self.change(node.input)
            if change is not None and change.inserts_only:
                return self._first_seen(node, keys)
        return self._difference(node, keys)

    def affected(self, node: Aggregate | Window) -> Restriction | None:
        """The keys of the groups that changed; None when none did. Without keys, a restriction to everything."""
        own = node.keys if isinstance(node, Aggregate) else node.partition
        below, keys = (node.input, own) if isinstance(node, Aggregate) else self._told_by(node)
        change = self.change(below)
        if change is None:
            return None
        if not keys:
            return Restriction("", ())
        state = self.renderer.states.get(id(node))
        if state is not None:
            self.grows(state)
            return Restriction(state.changed, tuple((column.id, column.id) for column in keys))
        what = "groups" if isinstance(node, Aggregate) else "partitions"
        told = self.distinct_keys(f"{what} that changed", change.query, keys)
        names = [name for _, name in told.pairs]
        return Restriction(told.stage, tuple((column.id, name) for column, name in zip(own, names, strict=True)))

    def _told_by(self, window: Window) -> tuple[Node, tuple[Column, ...]]:
        """Whose change tells the partitions that changed, and their keys there: below windows that have these keys too.

        A change of a row concerns its own partition, whatever such windows make of it. What they change need not be
        found out: it would be computed only to be computed again for the whole partition.
        """
        node, keys = window.input, window.partition
        found = node, keys
        while keys:
            ids = {column.id for column in keys}
            if isinstance(node, Window) and ids <= {column.id for column in node.partition}:
                found = node.input, keys
            elif isinstance(node, Project):
                plain = {item.column.id: item.value.name for item in node.items if isinstance(item.value, exp.Column)}
                if not ids <= plain.keys():
                    break
                keys = tuple(Column(plain[column.id], column.type) for column in keys)
            elif not isinstance(node, Filter) or self.passes_with_time(node.condition):
                break
            node = node.input
        return found

    def distinct_keys(self, purpose: str, change: exp.Select, columns: Sequence[Column]) -> Restriction:
        """To the values that the columns have in a change, which become a stage."""
        pairs = tuple((column, f"k{place}") for place, column in enumerate(columns, 1))
        query = exp.select(*[exp.alias_(column.ref, quoted(name)) for column, name in pairs])
        query = query.from_(self.renderer.source(change))
        query.set("distinct", exp.Distinct())
        return Restriction(self.stage(purpose, query), tuple((column.id, name) for column, name in pairs))

    def grows(self, state: State) -> bool:
        """Whether the refresh adds to the state; then there is a stage with what it adds."""
        if state.name not in self._added:
            change = self.change(state.node.input)
            self._added[state.name] = change is not None
            if change is not None:
                self._grow(state, change)
        return self._added[state.name]

    def _grow(self, state: State, change: Change) -> None:
        query = change.query.copy()
        if not state.extremes:
            self._add(state.added, "sums of what changed", self.renderer.addition(state, query))
            return
        if not change.inserts_only:
            query = self.netted(query, state.node.input.columns)
        extremes.grow(self.renderer, state, query, inserts_only=change.inserts_only, add=self._add)

    def _first_seen(self, node: Aggregate, keys: Restriction) -> Change:
        """DISTINCT over rows that only came: those that were not there before."""
        names = [theirs for _, theirs in keys.pairs]
        query = self.renderer.of(exp.Table(this=quoted(keys.stage)), node.keys, names)
        seen = self.renderer.rows(node, When.OLD, keys)
        fresh = self.renderer.of(query, node.keys)
        alias = f"{keys.stage}_old"
        own = fresh.args["from_"].this.alias
        on = exp.and_(*[
            exp.NullSafeEQ(
                this=exp.column(quoted(column.id), table=quoted(own)),
                expression=exp.column(quoted(column.id), table=quoted(alias)),
            )
            for column in node.keys
        ])  # fmt: skip
        fresh.set("expressions", [
            exp.alias_(exp.column(quoted(c.id), table=quoted(own)), quoted(c.id)) for c in node.keys
        ])  # fmt: skip
        before = exp.Subquery(this=seen, alias=exp.TableAlias(this=quoted(alias)))
        fresh.set("joins", [exp.Join(this=before, side="LEFT", kind="ANTI", on=on)])
        return Change(fresh.select(exp.alias_(number(1), quoted(WEIGHT)), copy=False), inserts_only=True)

    def _difference(self, node: Node, keys: Restriction | None) -> Change | None:
        """What is there now less what was there."""
        if isinstance(node, Limit) and self.change(node.input) is None:
            return None
        terms = []
        for when, weight in ((When.NEW, 1), (When.OLD, -1)):
            rows = self.renderer.of(self.renderer.rows(node, when, keys), node.columns)
            terms.append(rows.select(exp.alias_(number(weight), quoted(WEIGHT)), copy=False))
        return Change(self._sum(terms, node.columns))

    # -- stages ---------------------------------------------------------------------------------------------------

    def stage(self, purpose: str, query: exp.Select) -> str:
        name = f"s{len(self.stages) + 1}"
        self._add(name, purpose, query)
        return name

    def _add(self, name: str, purpose: str, query: exp.Select) -> None:
        self.stages.append(Stage(name, purpose, query))

    def kept(self, change: Change, node: Node, purpose: str) -> Change:
        """The change as a stage of its own, netted: what came and went again is gone."""
        if change.stage is not None:
            return change
        query = change.query if change.inserts_only else self.netted(change.query, node.columns)
        name = self.stage(purpose, query)
        source = self.renderer.of(exp.Table(this=quoted(name)), node.columns)
        kept = Change(_weighted(source), change.inserts_only, name)
        self._known[id(node)] = kept
        return kept

    def netted(self, query: exp.Select, columns: Sequence[Column]) -> exp.Select:
        """Equal rows as one, with the sum of their weights; those that cancel out are gone."""
        total = call("sum", exp.column(quoted(WEIGHT)))
        plain = [column for column in columns if not _is_variant(column)]
        grouped = exp.select(*[
            exp.alias_(call("any_value", c.ref) if _is_variant(c) else c.ref, quoted(c.id)) for c in columns
        ], exp.alias_(total, quoted(WEIGHT)))  # fmt: skip
        grouped = grouped.from_(self.renderer.source(query))
        keys: list[exp.Expr] = [column.ref for column in plain]
        for column in columns:
            if _is_variant(column):
                keys += [call("to_json", column.ref), call("schema_of_variant", column.ref)]
        grouped.set("group", exp.Group(expressions=keys))
        grouped.set("having", exp.Having(this=exp.NEQ(this=total.copy(), expression=number(0))))
        return grouped

    def _sum(self, terms: Sequence[exp.Select], columns: Sequence[Column]) -> exp.Select:
        return self.renderer.united(list(terms), [*(column.id for column in columns), WEIGHT])


def _weighted(query: exp.Select) -> exp.Select:
    return query.select(exp.column(quoted(WEIGHT)), copy=False)


def _is_variant(column: Column) -> bool:
    return column.type is not None and column.type.is_semi_structured


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


def _restriction(
    node: Node,
    conditions: Sequence[exp.Expr],
    known: Mapping[str, tuple[str, str]],
    narrowed: Container[str] = (),
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


def _nearest(
    waiting: Sequence[tuple[Node, When]],
    conditions: Sequence[exp.Expr],
    known: Mapping[str, tuple[str, str]],
    narrowed: Container[str],
) -> tuple[tuple[Node, When], Restriction | None]:
    """The next part to join: one that can be restricted by what is known, and that has conditions of its own."""
    for item in sorted(waiting, key=lambda one: -_selectivity(one[0])):
        restriction = _restriction(item[0], conditions, known, narrowed)
        if restriction is not None:
            return item, restriction
    return waiting[0], None


def _selectivity(node: Node) -> int:
    """How much the filters over a table promise: an equality more than another condition."""
    promise = 0
    while isinstance(node, Project | Filter):
        if isinstance(node, Filter):
            equal = any(isinstance(one, exp.EQ | exp.In) for one in conjuncts(node.condition))
            promise = max(promise, 2 if equal else 1)
        node = node.input
    return promise if isinstance(node, Scan) else 0


def _scanned(node: Node) -> tuple[Scan, dict[str, str]] | None:
    """The table that a node only filters and projects, and the ids there of the columns that come through."""
    columns = {column.id: column.id for column in node.columns}
    while isinstance(node, Project | Filter):
        if isinstance(node, Project):
            plain = {item.column.id: item.value.name for item in node.items if isinstance(item.value, exp.Column)}
            columns = {id_: plain[own] for id_, own in columns.items() if own in plain}
        node = node.input
    return (node, columns) if isinstance(node, Scan) else None


def _names(node: Node) -> str:
    return ", ".join(sorted(node.tables)) or "constants"
