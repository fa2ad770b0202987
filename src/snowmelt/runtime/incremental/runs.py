"""The session and the run in which a refresh works: as the system, in the table's warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.run import Run
from snowmelt.sql.tokens import SqlText

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session

QUERY_TYPE = "REFRESH_DYNAMIC_TABLE_AT_REFRESH_VERSION"
"""What QUERY_HISTORY calls a refresh."""


class RefreshRun(Run):
    """Works in a transaction that was begun for it, and stops when the statement that asked for it is stopped."""

    def __init__(self, session: Session, sql: SqlText, transaction: Transaction | None, caller: Run | None) -> None:
        super().__init__(session, sql)
        self._caller = caller
        self._statement_transaction = transaction
        self.autocommits = True
        if caller is not None:
            # One tag for both: cancelling the statement stops the jobs of the refresh.
            self.tag = caller.tag

    def check_cancelled(self) -> None:
        if self._caller is not None:
            self._caller.check_cancelled()
        super().check_cancelled()


@contextmanager
def refresh_run(
    account: Account,
    name: ObjectName,
    owner: str,
    warehouse: str,
    transaction: Transaction | None = None,
    caller: Run | None = None,
    *,
    as_caller: bool = False,
) -> Iterator[RefreshRun]:
    """A run in a session of its own, which ends with the block, with the rights of the table's owner.

    `as_caller`: with the caller's user and warehouse.
    """
    user = "SYSTEM"
    if as_caller and caller is not None:
        user, warehouse = caller.session.user, caller.session.warehouse or warehouse
    session = account.session(user=user, role=owner, database=name.database, schema=name.schema, warehouse=warehouse)
    session.acts_as_owner = True
    try:
        run = RefreshRun(session, SqlText(f"ALTER DYNAMIC TABLE {name} REFRESH"), transaction, caller)
        run.refreshes = name
        yield run
    finally:
        session.close()
