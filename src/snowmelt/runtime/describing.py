"""The columns that a statement's result would have, without running the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import types
from snowmelt.runtime.results import ResultColumn
from snowmelt.runtime.rights.enforcement import authorise
from snowmelt.sql.statements.base import Query, Statement
from snowmelt.sql.statements.calls import Call
from snowmelt.sql.statements.dml import (
    DeleteStatement,
    InsertStatement,
    MergeStatement,
    MultiInsertStatement,
    UpdateStatement,
)

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_COUNTED: dict[type[Statement], tuple[str, ...]] = {
    InsertStatement: ("number of rows inserted",),
    UpdateStatement: ("number of rows updated", "number of multi-joined rows updated"),
    DeleteStatement: ("number of rows deleted",),
    MergeStatement: ("number of rows inserted", "number of rows updated", "number of rows deleted"),
}


def described(run: Run, statement: Statement) -> tuple[ResultColumn, ...]:
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
