"""What statements inside a script may not do: touch the caller's session, or end the caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.features.scripting import errors as script_errors
from snowmelt.features.scripting.statements import CreateRoutine
from snowmelt.sql.statements.base import Statement, StatementKind
from snowmelt.sql.statements.session import (
    AlterParameters,
    Begin,
    Commit,
    Rollback,
    SetVariables,
    UnsetVariables,
    Use,
)
from snowmelt.sql.statements.views import CreateView

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_CALLERS_ALONE = {Use: "USE", SetVariables: "SET", UnsetVariables: "UNSET", AlterParameters: "ALTER SESSION"}


def before(run: Run, statement: Statement, kind: StatementKind) -> None:
    """Called before every statement. Raises when the script around it may not run it."""
    session = run.session
    script = session.script
    if script is None:
        return
    if isinstance(statement, CreateView | CreateRoutine):
        run.sees_locals = False
    refused = _CALLERS_ALONE.get(type(statement)) if script.owners_rights else None
    if refused is not None:
        raise script_errors.not_in_procedure(refused)
    scope = script.transactions
    if scope is None:
        return
    in_callers = scope.outer is not None and session.transaction is scope.outer
    if isinstance(statement, Begin):
        scope.began = True
        if in_callers:
            # A transaction of its own; the caller's goes on when this one has ended.
            session.transaction = None
    elif in_callers and (isinstance(statement, Commit | Rollback) or kind.is_ddl):
        raise script_errors.other_transaction_scope()
