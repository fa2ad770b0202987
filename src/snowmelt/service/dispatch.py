"""Which handler runs which statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.service.handlers import changes, definitions, describe, inserts, queries, sessions, show
from snowmelt.service.results import Result
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.classify import classify

if TYPE_CHECKING:
    from snowmelt.service.run import Run

Handler = Callable[["Run", Any], Result]
_ATTEMPTS = 5

HANDLERS: dict[type[Statement], Handler] = {
    **queries.HANDLERS,
    **sessions.HANDLERS,
    **definitions.HANDLERS,
    **inserts.HANDLERS,
    **show.HANDLERS,
    **describe.HANDLERS,
}


def execute(run: Run, statement: Statement) -> Result:
    """Runs one parsed statement; on failure nothing of it remains."""
    handler = HANDLERS.get(type(statement))
    kind = classify(statement)
    if handler is None:
        raise errors.unsupported(kind.query_type.replace("_", " "))
    if kind.is_ddl and run.session.transaction is not None:
        # As in Snowflake, DDL is a transaction of its own and commits the one that is open.
        transaction, run.session.transaction = run.session.transaction, None
        run.account.transactions.commit(transaction)
    for _ in range(_ATTEMPTS):
        try:
            with run.atomic():
                return handler(run, statement)
        except errors.TableChanged:
            # Another session altered the table while this statement waited for it: read its definition again.
            run.forget_tables()
    with run.atomic():
        return handler(run, statement)
