"""Which handler runs which statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.service.handlers import (
    alerts,
    changes,
    copy,
    definitions,
    describe,
    dynamic_tables,
    files,
    inserts,
    quality,
    queries,
    routines,
    sessions,
    show,
    tasks,
)
from snowmelt.service.results import Result
from snowmelt.service.scripting import guard
from snowmelt.service.security.enforcement import authorise
from snowmelt.service.streams import offsets
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.session import Commit, Rollback

if TYPE_CHECKING:
    from snowmelt.service.run import Run

Handler = Callable[["Run", Any], Result]
_ATTEMPTS = 5
_CONSUMING = frozenset({"UNLOAD", "CREATE_TABLE_AS_SELECT"})
"""What besides DML moves the offsets of the streams that it reads."""

HANDLERS: dict[type[Statement], Handler] = {
    **queries.HANDLERS,
    **sessions.HANDLERS,
    **definitions.HANDLERS,
    **inserts.HANDLERS,
    **copy.HANDLERS,
    **files.HANDLERS,
    **changes.HANDLERS,
    **show.HANDLERS,
    **describe.HANDLERS,
    **dynamic_tables.HANDLERS,
    **routines.HANDLERS,
    **tasks.HANDLERS,
    **quality.HANDLERS,
    **alerts.HANDLERS,
}


def execute(run: Run, statement: Statement) -> Result:
    """Runs one parsed statement; on failure nothing of it remains."""
    handler = HANDLERS.get(type(statement))
    kind = classify(statement)
    if handler is None:
        raise errors.unsupported(kind.query_type.replace("_", " "))
    transaction = run.session.transaction
    if transaction is not None and transaction.aborted and not isinstance(statement, Commit | Rollback):
        raise errors.transaction_aborted()
    guard.before(run, statement, kind)
    authorise(run, statement)
    run.copies_grants = bool(getattr(statement, "copy_grants", False))
    run.consumes = kind.is_dml or kind.query_type in _CONSUMING
    if isinstance(statement, routines.SCRIPTS):
        return handler(run, statement)
    if kind.is_ddl:
        # As in Snowflake, DDL is a transaction of its own, whatever AUTOCOMMIT says, and commits the one that is open.
        run.autocommits = True
        transaction, run.session.transaction = run.session.transaction, None
        if transaction is not None:
            run.account.transactions.commit(transaction)
    for _ in range(_ATTEMPTS):
        try:
            with run.atomic():
                return _carried_out(run, handler, statement)
        except errors.StatementConflictError:
            # Another session altered the table while this statement waited for it, or another tool wrote it. Nothing
            # of the statement remains: look at the table again.
            run.forget_tables()
    try:
        with run.atomic():
            return _carried_out(run, handler, statement)
    except errors.StatementConflictError as error:
        # Not for the block or procedure around this statement to try again: its other statements did succeed.
        raise errors.once(error) from error


def _carried_out(run: Run, handler: Handler, statement: Statement) -> Result:
    result = handler(run, statement)
    offsets.consume(run)
    run.lineage = run.account.lineage.recorder.note(run, statement)
    return result
