"""From one definition of a view to another: how the rows that it has become those that it should have.

Two ways, tried in this order. `switched`: the queries differ only in conditions (WHERE, HAVING, the equality of a join
is not one of them). The new query is planned as one whose filters say one thing before and another after, which is
what filters over the clock do; every rule of every operator then holds. `over_rows`: the new query only computes with
the rows of the old one, which the table has: further columns, further joins, narrower conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.ivm.algebra import Item, PlanColumn, Tables, all_of, columns_in
from snowmelt.ivm.expressions import View
from snowmelt.ivm.lowering import finished, lowered
from snowmelt.ivm.operators.base import Operator
from snowmelt.ivm.operators.filter import Filter
from snowmelt.ivm.operators.inner_join import inner_join
from snowmelt.ivm.operators.join import Join, JoinKind, left_join
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.operators.scan import Scan
from snowmelt.ivm.trees import mapped, quoted, substituted
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.notes import clocked

BEFORE = datetime(1, 1, 1, tzinfo=UTC)
AFTER = datetime(9999, 1, 1, tzinfo=UTC)
"""What the clock of a switched view says at the old definition and at the new one. It knows no other."""


class DifferentError(Exception):
    """The one query does not lead to the other; the text says why, for users."""


# -- the same but for conditions --------------------------------------------------------------------------------------


def switched(before: exp.Expr, after: exp.Expr, tables: Tables) -> View:
    """The view whose rows at `BEFORE` are those of the one query and at `AFTER` those of the other."""
    old, _ = lowered(before, tables)
    new, fresh = lowered(after, tables)
    if [name for name, _ in old.outputs] != [name for name, _ in new.outputs]:
        raise DifferentError("it has other columns")
    pair = _Pair()
    root = pair.combined(old.root, new.root)
    if [pair.names.get(column.id) for column in old.columns] != [column.id for column in new.columns]:
        raise DifferentError("it computes its columns from others")
    return finished(View(root, new.outputs), fresh)


@dataclass(slots=True)
class _Pair:
    names: dict[str, str] = field(default_factory=dict)
    """From ids of the old view to those of the new one."""
    done: dict[tuple[int, int], Operator] = field(default_factory=dict)

    def combined(self, old: Operator, new: Operator) -> Operator:
        key = id(old), id(new)
        if key not in self.done:
            self.done[key] = self._combined(old, new)
        return self.done[key]

    def _combined(self, old: Operator, new: Operator) -> Operator:
        earlier, old = old.peeled()
        later, new = new.peeled()
        if old.__class__ is not new.__class__ or len(old.inputs) != len(new.inputs):
            raise DifferentError("the query has another form")
        inputs = [self.combined(one, other) for one, other in zip(old.inputs, new.inputs, strict=True)]
        if not self._same_fields(old.joined_by(()), new.joined_by(())):
            raise DifferentError("it computes with other expressions")
        before, joining = [self._renamed(one) for one in (*old.joining, *earlier)], new.joining
        known = _texts(before)
        # Joined by what both ask for; what only one of them does is tested above.
        kept = [one for one in joining if to_spark_sql(one) in known]
        both = _texts(kept)
        before = [one for one in before if to_spark_sql(one) not in both]
        node = (new.over(inputs) if inputs else new).joined_by(kept)
        return self._filtered(node, before, [*(one for one in joining if to_spark_sql(one) not in both), *later])

    def _filtered(self, node: Operator, earlier: list[exp.Expr], later: list[exp.Expr]) -> Operator:
        before, after = _texts(earlier), _texts(later)
        gone = [one for one in earlier if to_spark_sql(one) not in after]
        come = [one for one in later if to_spark_sql(one) not in before]
        for one in later:
            if to_spark_sql(one) in before:
                node = Filter(node, one)
        return Filter(node, _switch(all_of(gone), all_of(come))) if gone or come else node

    def _renamed(self, tree: exp.Expr) -> exp.Expr:
        return renamed(tree, self.names)

    def _same_fields(self, old: Operator, new: Operator) -> bool:
        """Whether two operators over inputs that correspond make the same of them."""
        below = {id(node) for node in old.inputs}
        for part in fields(old):
            one, other = getattr(old, part.name), getattr(new, part.name)
            if id(one) in below or (isinstance(one, tuple) and any(id(item) in below for item in one)):
                continue
            if not _same(one, other, self.names):
                return False
        return True


def _switch(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """A condition that is another one at each side. Written as a CASE of both, so that both sides' columns are seen."""
    both = exp.Case(ifs=[exp.If(this=exp.true(), true=new.copy())], default=old.copy())
    return clocked(both, lambda instant: (new if instant == AFTER else old).copy())


def _texts(trees: Iterable[exp.Expr]) -> set[str]:
    """Trees as they are compared: those of sqlglot are equal for texts that differ in case."""
    return {to_spark_sql(tree) for tree in trees}


def renamed(tree: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    return substituted(tree, {own: exp.Column(this=quoted(other)) for own, other in names.items()})


def _same(old: Any, new: Any, names: dict[str, str]) -> bool:
    """Whether two parts of operators mean the same, given which columns correspond; adds those that are new here."""
    if isinstance(old, PlanColumn):
        if not isinstance(new, PlanColumn) or old.type != new.type:
            return False
        return names.setdefault(old.id, new.id) == new.id
    if isinstance(old, Item):
        # Its value is over columns below, which are known; its own column may be new.
        return isinstance(new, Item) and _same(old.value, new.value, names) and _same(old.column, new.column, names)
    if isinstance(old, exp.Expr):
        return isinstance(new, exp.Expr) and to_spark_sql(renamed(old, names)) == to_spark_sql(new)
    if isinstance(old, tuple):
        return (
            isinstance(new, tuple)
            and len(old) == len(new)
            and all(_same(one, other, names) for one, other in zip(old, new, strict=True))
        )
    if is_dataclass(old):
        if old.__class__ is not new.__class__:
            return False
        inputs_first = sorted(fields(old), key=lambda part: not _holds_operators(getattr(old, part.name)))
        return all(_same(getattr(old, part.name), getattr(new, part.name), names) for part in inputs_first)
    return bool(old == new)


def _holds_operators(value: Any) -> bool:
    return isinstance(value, Operator) or (isinstance(value, tuple) and bool(value) and isinstance(value[0], Operator))


# -- computed from the rows there are ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeldColumn:
    """A column that the table has for a column of the old query."""

    name: str
    type: DataType
    """Of the query's value."""
    widened: bool = False
    """Whether the table's own type is a wider one by now."""


def over_rows(before: exp.Expr, after: exp.Expr, tables: Tables, held: Sequence[HeldColumn | None], table: str) -> View:
    """The new query over the rows of the old one, which the relation `table` has in the columns `held`, in order."""
    old, _ = lowered(before, tables)
    new, _ = lowered(after, tables)
    problem = DifferentError("the query has another form")
    for deep in (True, False):
        try:
            return _OverRows(_Block.of(old, deep=deep), _Block.of(new, deep=deep), new, held, table).view()
        except DifferentError as error:
            problem = error
    raise problem


@dataclass(slots=True)
class _Block:
    """One level of a query: joined parts, the conditions on them, outer joins to them, EXISTS and its like about them,
    and what comes of each row."""

    outputs: tuple[exp.Expr, ...] = ()
    values: dict[str, exp.Expr] = field(default_factory=dict)
    conditions: list[exp.Expr] = field(default_factory=list)
    parts: list[Operator] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    """The first one first."""

    @classmethod
    def of(cls, view: View, *, deep: bool) -> _Block:
        """`deep`: outer and semi joins on top are taken apart too."""
        block = cls()
        view.root.unfold(block, top=deep)
        block.joins.reverse()
        block.conditions = [block.resolved(one) for one in block.conditions]
        block.outputs = tuple(block.resolved(column.ref) for column in view.columns)
        return block

    def resolved(self, tree: exp.Expr) -> exp.Expr:
        """The expression over the columns of parts and of left joins."""

        def value(node: exp.Expr) -> exp.Expr | None:
            if isinstance(node, exp.Column) and node.name in self.values:
                found = self.resolved(self.values[node.name])
                return exp.Paren(this=found) if isinstance(found, exp.Binary | exp.Unary | exp.Case) else found
            return None

        return mapped(tree, value)


class _OverRows:
    def __init__(
        self, old: _Block, new: _Block, view: View, held: Sequence[HeldColumn | None], table: str
    ) -> None:  # fmt: skip
        self.old, self.new, self.new_view, self.table = old, new, view, table
        self.names: dict[str, str] = {}
        self.extra = self._match_parts()
        self.joins = self._match_joins()
        self.residual = self._match_conditions()
        self.columns: list[tuple[PlanColumn, str]] = []
        self.known: dict[str, exp.Expr] = {}
        """What stands for a value of the old query, by its text: a column of the table."""
        for position, (value, column) in enumerate(zip(old.outputs, held, strict=True), 1):
            if column is not None and columns_in(value):
                own = PlanColumn(f"held{position}", column.type)
                self.columns.append((own, column.name))
                known = renamed(value, self.names)
                ref: exp.Expr = own.ref
                if column.widened:
                    ref = exp.cast(ref, exp.DataType.build(column.type.spark, dialect="spark"))
                self.known.setdefault(to_spark_sql(known), ref)

    def view(self) -> View:
        if not self.columns:
            raise DifferentError("the table has no column that the query computes with")
        scan = Scan(tuple(self.columns), self.table)
        inner = frozenset({*scan.ids, *(id_ for part in self.extra for id_ in part.ids)})
        conditions = [self._over(one) for one in self.residual]
        below = [one for one in conditions if columns_in(one) <= inner]
        above = [one for one in conditions if not columns_in(one) <= inner]
        node = inner_join([scan, *self.extra], below) if self.extra or below else scan
        reachable = inner
        for join in self.joins:
            on = self._over(self.new.resolved(join.condition))
            if join.kind is JoinKind.LEFT:
                reachable |= join.right.ids
                node = left_join(node, join.right, on)
            else:
                node = Join(join.kind, node, join.right, on)
        node = Filter(node, all_of(above)) if above else node
        items: list[Item] = []
        for column, value in zip(self.new_view.columns, self.new.outputs, strict=True):
            computed = self._over(value)
            if not columns_in(computed) <= reachable:
                raise DifferentError("it needs columns of its sources that the table does not have")
            items.append(Item(PlanColumn(f"made{len(items) + 1}", column.type), computed))
        root = Project(node, tuple(items))
        names = [name for name, _ in self.new_view.outputs]
        return View(root, tuple(zip(names, root.columns, strict=True)))

    def _over(self, tree: exp.Expr) -> exp.Expr:
        """An expression of the new query, over the table's columns."""

        def held(node: exp.Expr) -> exp.Expr | None:
            column = self.known.get(to_spark_sql(node)) if columns_in(node) else None
            return column.copy() if column is not None else None

        found = mapped(tree, held)
        reachable = {column.id for column, _ in self.columns}.union(
            *(part.ids for part in self.extra), *(join.right.ids for join in self.joins)
        )
        if not columns_in(found) <= reachable:
            raise DifferentError("it needs columns of its sources that the table does not have")
        return found

    def _match_parts(self) -> list[Operator]:
        """Finds each part of the old query in the new one, in order; those that only the new one has."""
        waiting = list(self.new.parts)
        extra: list[Operator] = []
        for part in self.old.parts:
            while True:
                if not waiting:
                    raise DifferentError("it reads other tables, or groups them in another way")
                candidate = waiting.pop(0)
                names = dict(self.names)
                if _same(part, candidate, names):
                    self.names = names
                    break
                extra.append(candidate)
        return [*extra, *waiting]

    def _match_joins(self) -> list[Join]:
        """Finds each outer and semi join of the old query in the new one, in order; those that only the new one has.

        The order of those between does not matter: the conditions of the old ones name nothing that the others add.
        """
        waiting, extra = list(self.new.joins), list[Join]()
        for join in self.old.joins:
            while True:
                if not waiting:
                    raise DifferentError("it joins in another way")
                candidate = waiting.pop(0)
                if self._same_join(join, candidate):
                    break
                extra.append(candidate)
        return [*extra, *waiting]

    def _same_join(self, old: Join, new: Join) -> bool:
        names = dict(self.names)
        if old.kind is not new.kind or not _same(old.right, new.right, names):
            return False
        condition = renamed(self.old.resolved(old.condition), names)
        same = to_spark_sql(condition) == to_spark_sql(self.new.resolved(new.condition))
        if same:
            self.names = names
        return same

    def _match_conditions(self) -> list[exp.Expr]:
        """What the new query asks for beyond the old one."""
        asked = _texts(self.new.conditions)
        known = _texts(renamed(condition, self.names) for condition in self.old.conditions)
        if not known <= asked:
            raise DifferentError("it has rows that the table does not have")
        return [one for one in self.new.conditions if to_spark_sql(one) not in known]
