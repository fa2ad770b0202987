"""The columns that a statement's result would have, without running the statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from snowmelt.core import types
from snowmelt.runtime.kinds import Handler
from snowmelt.runtime.results import ResultColumn
from snowmelt.runtime.rights.enforcement import authorise
from snowmelt.runtime.statement import AuditedAccount, CheckedStatement
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.statements.base import Query, Statement
from snowmelt.sql.statements.calls import Call
from snowmelt.sql.statements.dml import (
    DeleteStatement,
    InsertStatement,
    MergeStatement,
    MultiInsertStatement,
    UpdateStatement,
)
from snowmelt.sql.tokens import SqlText

_COUNTED: dict[type[Statement], tuple[str, ...]] = {
    InsertStatement: ("number of rows inserted",),
    UpdateStatement: ("number of rows updated", "number of multi-joined rows updated"),
    DeleteStatement: ("number of rows deleted",),
    MergeStatement: ("number of rows inserted", "number of rows updated", "number of rows deleted"),
}


class HasListings(Protocol):
    @property
    def listings(self) -> Mapping[type[Statement], Handler]: ...


class ListingAccount(AuditedAccount, Protocol):
    @property
    def features(self) -> HasListings: ...


class BindableStatement(CheckedStatement, Protocol):
    """A statement that is bound, and not run."""

    @property
    def account(self) -> ListingAccount: ...
    def bind_query(self, text: SqlText) -> BoundQuery: ...


def described(run: BindableStatement, statement: Statement) -> tuple[ResultColumn, ...]:
    """Queries are bound and no more; SHOW and DESCRIBE only read the catalog, so they are asked."""
    authorise(run, statement)
    if isinstance(statement, Query):
        return tuple(ResultColumn(column.name, column.type) for column in run.bind_query(statement.text).columns)
    metadata = run.account.features.listings.get(type(statement))
    if metadata is not None:
        columns: tuple[ResultColumn, ...] = metadata(run, statement).columns
        return columns
    if isinstance(statement, MultiInsertStatement):
        names = dict.fromkeys(run.parts(item.target)[-1] for item in statement.targets)
        return tuple(ResultColumn(f"number of rows inserted into {name}", types.int64()) for name in names)
    if isinstance(statement, Call):
        return (ResultColumn(run.parts(statement.name)[-1], types.VARCHAR),)
    counted = _COUNTED.get(type(statement))
    if counted is not None:
        return tuple(ResultColumn(name, types.int64()) for name in counted)
    return (ResultColumn("status", types.VARCHAR),)
