"""What the parts of the binder ask of each other: expressions hold queries, and queries expressions.

`expressions.ExpressionBinder` and `queries.QueryBinder` are these; nothing below them imports either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.sql.bound import Bound, BoundQuery, Scope
from snowmelt.sql.clauses import Clause
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.relations import Relation, Relations
from snowmelt.sql.work import BindingWork


@dataclass(slots=True)
class Guards:
    """What the binders of one statement note for its end."""

    used: bool = False
    """Whether a policy holds for something that it reads."""
    declares: bool = False
    """Whether nothing is read: the query is declared, as that of a view is, and bound again by whoever reads it."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What stays the same while one statement is bound."""

    relations: Relations
    context: SessionContext
    work: BindingWork = field(default_factory=BindingWork, compare=False)


class BindsExpressions(Protocol):
    """Binds expressions in one scope."""

    @property
    def environment(self) -> Environment: ...
    @property
    def context(self) -> SessionContext: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def queries(self) -> BindsQueries: ...
    @property
    def window(self) -> exp.Window | None: ...
    @property
    def clause(self) -> Clause: ...

    def in_scope(self, scope: Scope) -> BindsExpressions: ...
    def in_clause(self, clause: Clause) -> BindsExpressions: ...
    def in_body(self, environment: Environment, scope: Scope, queries: BindsQueries) -> BindsExpressions: ...
    def bind(self, node: exp.Expr) -> Bound: ...
    def boolean(self, node: exp.Expr) -> Bound: ...
    def cast(self, value: Bound, target: DataType, *, attempt: bool = False) -> Bound: ...
    def same_type(self, values: Sequence[Bound]) -> tuple[list[Bound], DataType]: ...
    def as_number(self, value: Bound) -> Bound: ...
    def compare(self, operator: type[exp.Expr], left: Bound, right: Bound) -> Bound: ...
    def comparable_pair(self, left: Bound, right: Bound) -> tuple[Bound, Bound]: ...
    def orderable(self, value: Bound) -> Bound: ...


class BindsWindows(Protocol):
    """Binds OVER (…)."""

    def wrap(self, binder: BindsExpressions, node: exp.Window, bound: Bound) -> Bound: ...


class BindsQueries(Protocol):
    """Binds queries: those in expressions, in FROM, and in the bodies of views and functions."""

    @property
    def environment(self) -> Environment: ...
    @property
    def windows(self) -> BindsWindows: ...
    @property
    def guards(self) -> Guards: ...

    def within(self, environment: Environment, routine: str | None = None) -> BindsQueries: ...
    def bind(self, node: exp.Expr, scope: Scope | None = None) -> BoundQuery: ...
    def subquery(self, node: exp.Expr, scope: Scope) -> BoundQuery: ...
    def view(self, relation: Relation) -> BoundQuery: ...
    def cast_columns(self, bound: BoundQuery, targets: Sequence[DataType]) -> BoundQuery: ...
