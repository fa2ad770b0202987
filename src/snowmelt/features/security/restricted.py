"""What a session may not do that its log-in restricts to one role: get, or give, a way in that is wider than itself.

Every statement that makes or changes a way to log in comes through `check`, whatever role or procedure runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.security.statements import AbortQueries, AlterUser, CreateUser, UserOptions
from snowmelt.sql.statements.base import NameRef, Statement, StatementKind
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

LOGIN_OPTIONS = frozenset(
    {"PASSWORD", "LOGIN_NAME", "MUST_CHANGE_PASSWORD", "DISABLED", "MINS_TO_UNLOCK", "DEFAULT_ROLE",
     "DEFAULT_SECONDARY_ROLES", "RSA_PUBLIC_KEY", "RSA_PUBLIC_KEY_2", "TYPE", "NETWORK_POLICY"}
)  # fmt: skip
"""Options of users that decide whether, how and as what somebody gets in."""
HARMLESS_OPTIONS = frozenset(
    {"DISPLAY_NAME", "FIRST_NAME", "LAST_NAME", "EMAIL", "DEFAULT_WAREHOUSE", "DEFAULT_NAMESPACE", "COMMENT"}
)
"""The others. A new option has to be in one of the two."""


def check(run: Run, statement: Statement, _: StatementKind) -> None:
    """Raises when the session is restricted to a role and the statement would change a way in that is not narrower."""
    restriction = run.session.role_restriction
    if restriction is None or not isinstance(statement, CreateUser | AlterUser) or not _changes_login(statement):
        return
    name = _user(run, statement.name)
    with run.state.read() as state:
        exists = state.access.user(name) is not None
    wide = exists and not run.account.access.available(name) <= run.account.access.inherited(restriction)
    if name == run.session.user or wide:
        error = errors.insufficient_privileges("user", name)
        run.account.audit.denied(run, ("ROLE_RESTRICTION",), f"USER {name}", error)
        raise error


def _user(run: Run, name: NameRef | None) -> str:
    return run.session.user if name is None else run.parts(name)[-1]


def _changes_login(statement: CreateUser | AlterUser) -> bool:
    if isinstance(statement, CreateUser):
        return True
    match statement.action:
        case SetOptions(options=UserOptions() as options):
            return not set(options.given()) <= HARMLESS_OPTIONS
        case UnsetOptions(names=names):
            return not set(names) <= HARMLESS_OPTIONS
        case AbortQueries():
            return False
        case _:
            return True
