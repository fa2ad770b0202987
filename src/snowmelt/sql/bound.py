"""What binding produces: typed Spark expressions, and the scopes in which names are looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType


@dataclass(frozen=True, slots=True)
class Bound:
    """A Spark expression and its Snowflake type."""

    tree: exp.Expr
    type: DataType
    aggregate: bool = False
    """Holds an aggregate that is not inside a window."""
    volatile: bool = False

    def with_tree(self, tree: exp.Expr, type_: DataType | None = None) -> Bound:
        return replace(self, tree=tree, type=type_ or self.type)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    """As the user sees it; may occur twice."""
    key: str
    """As Spark sees it; unique."""
    type: DataType


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query in Spark SQL whose every name is resolved, with its columns and their Snowflake types."""

    tree: exp.Query
    columns: tuple[OutputColumn, ...]
    volatile: bool = False


@dataclass(frozen=True, slots=True)
class SourceColumn:
    name: str
    type: DataType
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Source:
    """One item of FROM. `alias` is None when it can't be named (a bare subquery)."""

    alias: str | None
    columns: tuple[SourceColumn, ...]
    qualified: tuple[str, ...] = ()
    """The full name of a table, so that `db.schema.t.col` works."""
    hidden: frozenset[str] = frozenset()
    """Columns that a USING join merged away: not part of `*`, not ambiguous."""

    def answers_to(self, parts: tuple[str, ...]) -> bool:
        if self.alias is not None and parts == (self.alias,):
            return True
        return len(parts) > 1 and self.qualified[-len(parts) :] == parts


@dataclass(slots=True)
class Scope:
    """Where a SELECT looks names up: its sources, its CTEs, its own aliases, then the enclosing scope."""

    parent: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    ctes: dict[str, BoundQuery] = field(default_factory=dict)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    """SELECT aliases that other clauses may use, as written."""
    expanding: set[str] = field(default_factory=set)
    """Aliases being expanded now: one inside itself means a column, not the alias."""
    merged: dict[str, Bound] = field(default_factory=dict)
    """Columns of USING and NATURAL joins, once for both sides."""
    arguments: dict[str, Bound] = field(default_factory=dict)
    """Arguments of the SQL function whose body is being bound; lambda parameters."""

    def cte(self, name: str) -> BoundQuery | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.ctes:
                return scope.ctes[name]
            scope = scope.parent
        return None

    def visible(self) -> Iterator[tuple[Source, SourceColumn]]:
        for source in self.sources:
            for column in source.columns:
                if column.name not in source.hidden:
                    yield source, column

    def column(self, qualifier: tuple[str, ...], name: str, where: Place) -> Bound | None:
        """The column, looked for here and then outwards; None when there is none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.local_column(qualifier, name, where)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def local_column(self, qualifier: tuple[str, ...], name: str, where: Place) -> Bound | None:
        if not qualifier:
            if name in self.arguments:
                return self.arguments[name]
            if name in self.merged:
                return self.merged[name]
        found = [
            column
            for source in self.sources
            if not qualifier or source.answers_to(qualifier)
            for column in source.columns
            if column.name == name and (qualifier or name not in source.hidden)
        ]
        if len(found) > 1:
            raise errors.ambiguous_column(name, where.line, where.position)
        return Bound(found[0].tree.copy(), found[0].type) if found else None


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the user's statement: line from 1, position from 0."""

    line: int
    position: int


Origin = Callable[[exp.Expr], Place]


def place_of(node: exp.Expr) -> Place:
    """Where a node stood, from the first identifier below it that knows."""
    for part in node.walk():
        line, column = part.meta.get("line"), part.meta.get("col")
        if line is not None and column is not None:
            width = part.meta["end"] - part.meta["start"] + 1 if "end" in part.meta else len(part.name)
            return Place(line, max(column - width, 0))
    return Place(1, 0)


def merge_flags(tree: exp.Expr, type_: DataType, parts: Sequence[Bound]) -> Bound:
    return Bound(
        tree,
        type_,
        aggregate=any(part.aggregate for part in parts),
        volatile=any(part.volatile for part in parts),
    )


def tight(tree: exp.Expr) -> exp.Expr:
    """The tree in parentheses if it would otherwise fall apart as an operand."""
    if isinstance(
        tree, exp.Binary | exp.Not | exp.Neg | exp.Is | exp.In | exp.Between | exp.Connector
    ) and not isinstance(tree, exp.Dot):
        return exp.Paren(this=tree)
    return tree


def describe(node: exp.Expr) -> str:
    names: dict[type[exp.Expr], str] = {
        exp.Prior: "PRIOR",
        exp.Filter: "FILTER (WHERE …)",
        exp.Tuple: "row value here",
    }
    return names.get(type(node), type(node).__name__)
