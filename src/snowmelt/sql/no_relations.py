"""A catalog with nothing in it, to bind queries without an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.types import DataType
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.relations import ChangeSpan, Relation, Relations, ScalarRoutine, TimeTravel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class NoRelations:
    """A catalog with nothing in it, for expressions that stand alone."""

    def changes(self, parts: tuple[str, ...], span: ChangeSpan) -> Relation:
        raise errors.not_found("Object", ".".join(quote(part) for part in parts))

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        raise errors.not_found("Object", ".".join(quote(part) for part in parts))

    def table_function(self, name: str, arguments: Mapping[str, exp.Expr]) -> Relation:
        raise errors.unknown_function(name, None)

    def system_function(self, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        return None

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        raise errors.not_found("Stage", location)

    def next_value(self, parts: tuple[str, ...]) -> exp.Expr | None:
        return None

    def variable(self, name: str) -> exp.Expr | None:
        return None

    def local(self, name: str) -> tuple[exp.Expr, DataType] | None:
        return None

    def routine(self, parts: tuple[str, ...]) -> list[ScalarRoutine]:
        return []

    def distinct_values(self, query: BoundQuery) -> Sequence[exp.Expr]:
        raise errors.unsupported("PIVOT … IN (ANY) where no query can run", hint="List the values.")

    def within(self, database: str, schema: str, owner: str | None) -> Relations:
        return self
