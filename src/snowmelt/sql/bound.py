"""What binding produces: typed Spark expressions, and the scopes in which names are looked up."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import fold
from snowmelt.core.types import DataType
from snowmelt.sql.node_arguments import name_of

RESERVED_PREFIX = "__"
"""Begins every alias, column and common table that the binder names itself in Spark. A user's alias that begins so
gets another name there."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A Spark expression and its Snowflake type."""

    tree: exp.Expr
    type: DataType
    aggregate: bool = False
    """Holds an aggregate that is not inside a window."""
    volatile: bool = False
    explicit: bool = False
    """Whether COLLATE stands behind it: its collation, or having none, counts before that of columns."""

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
class CommonTable:
    """A query of a WITH clause, and the name that the binder gave it in Spark."""

    key: str
    query: BoundQuery
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class SourceColumn:
    name: str
    type: DataType
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class FromItem:
    """One item of FROM. `alias` is None when it can't be named (a bare subquery)."""

    alias: str | None
    columns: tuple[SourceColumn, ...]
    qualified: tuple[str, ...] = ()
    """The full name of a table, so that `db.schema.t.col` works."""
    hidden: frozenset[str] = frozenset()
    """Columns that a USING join merged away: not part of `*`, not ambiguous."""
    key: str | None = None
    """The alias in Spark, where it is another than `alias`."""

    def answers_to(self, parts: tuple[str, ...]) -> bool:
        if self.alias is not None and parts == (self.alias,):
            return True
        return len(parts) > 1 and self.qualified[-len(parts) :] == parts


@dataclass(slots=True)
class Scope:
    """Where a SELECT looks names up: its sources, its CTEs, its own aliases, then the enclosing scope."""

    parent: Scope | None = None
    sources: list[FromItem] = field(default_factory=list)
    ctes: dict[str, CommonTable] = field(default_factory=dict)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    """SELECT aliases that other clauses may use, as written."""
    expanding: set[str] = field(default_factory=set)
    """Aliases being expanded now: one inside itself means a column, not the alias."""
    bound_aliases: dict[Hashable, Bound] = field(default_factory=dict)
    """Aliases by name and by what they depend on: one that names another twice would bind it twice at every level."""
    merged: dict[str, Bound] = field(default_factory=dict)
    """Columns of USING and NATURAL joins, once for both sides."""
    stand_ins: dict[exp.Expr, exp.Expr] = field(default_factory=dict)
    """VARIANT values that the query groups by, and the aggregates that stand for them outside of aggregates."""
    arguments: dict[str, Bound] = field(default_factory=dict)
    """Arguments of the SQL function whose body is being bound; lambda parameters."""
    caller: Scope | None = None
    """Where the SQL function is called whose body this is. The body sees nothing of it, but its arguments are put into
    the body, and so the names that they use in Spark may mean nothing else there."""
    parameters: int = 0
    """How many parameters of lambdas this scope declares itself."""

    def below(self) -> Scope:
        """The scope of a derived table in FROM: it sees common tables and outer scopes, and nothing beside it."""
        return Scope(parent=Scope(parent=self.parent, ctes=self.ctes, arguments=self.arguments))

    def cte(self, name: str) -> CommonTable | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.ctes:
                return scope.ctes[name]
            scope = scope.parent
        return None

    def spark_alias(self, visible: str | None) -> str:
        """A name in Spark for another source: the user's, unless it could be taken for one that is in use around it."""
        taken = {source.key or source.alias for scope in self._around() for source in scope.sources}
        if visible is not None and visible not in taken and not visible.startswith(RESERVED_PREFIX):
            return visible
        return next(name for number in count(1) if (name := f"{RESERVED_PREFIX}s{number}") not in taken)

    def declare_parameter(self, name: str, type_: DataType) -> exp.Identifier:
        """A parameter of a lambda: visible under its name, in Spark under one that no lambda around it has."""
        key = f"{RESERVED_PREFIX}p{sum(scope.parameters for scope in self._around()) + 1}"
        self.parameters += 1
        self.arguments[name] = Bound(exp.to_identifier(key), type_)
        return exp.to_identifier(key)

    @property
    def in_lambda(self) -> bool:
        return any(scope.parameters for scope in self._around())

    def _around(self) -> Iterator[Scope]:
        """This scope and all whose columns and parameters an expression in it may mention."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            if scope.caller is not None:
                yield from scope.caller._around()
            scope = scope.parent

    def visible(self) -> Iterator[tuple[FromItem, SourceColumn]]:
        for source in self.sources:
            for column in source.columns:
                if column.name not in source.hidden:
                    yield source, column

    def column(self, qualifier: tuple[str, ...], name: str, where: SourcePosition) -> Bound | None:
        """The column, looked for here and then outwards; None when there is none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.local_column(qualifier, name, where)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def local_column(self, qualifier: tuple[str, ...], name: str, where: SourcePosition) -> Bound | None:
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
class SourcePosition:
    """A position in the user's statement: line from 1, position from 0."""

    line: int
    position: int


def position_of(node: exp.Expr) -> SourcePosition:
    """Where a node stood, from the first identifier below it that knows."""
    for part in node.walk():
        line, column = part.meta.get("line"), part.meta.get("col")
        if line is not None and column is not None:
            width = part.meta["end"] - part.meta["start"] + 1 if "end" in part.meta else len(part.name)
            return SourcePosition(line, max(column - width, 0))
    return SourcePosition(1, 0)


def fold_identifier(node: exp.Expr) -> str:
    """The stored form of an identifier node."""
    quoted = bool(node.args.get("quoted")) if isinstance(node, exp.Identifier) else False
    return fold(node.name, quoted=quoted)


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
    """What a node that can't stand where it does is called in an error."""
    return "row value here" if isinstance(node, exp.Tuple) else name_of(type(node))
