"""Which transactions are under way, and which tables each may have written."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select, update

from snowmelt.core import errors
from snowmelt.state.model import TransactionState
from snowmelt.state.repository import Repository
from snowmelt.state.tables import TRANSACTION_TABLES, TRANSACTIONS

_FINISH = (
    update(TRANSACTIONS)
    .where(TRANSACTIONS.c.id == bindparam("transaction"), TRANSACTIONS.c.finished_at.is_(None))
    .values(state=bindparam("state"), finished_at=bindparam("finished_at"))
)
_FORGET_TABLES = delete(TRANSACTION_TABLES).where(TRANSACTION_TABLES.c.transaction_id == bindparam("transaction"))
_UNFINISHED = (
    select(TRANSACTIONS.c.id, TRANSACTION_TABLES.c.table_id)
    .select_from(TRANSACTIONS.outerjoin(TRANSACTION_TABLES, TRANSACTION_TABLES.c.transaction_id == TRANSACTIONS.c.id))
    .where(TRANSACTIONS.c.finished_at.is_(None))
    .order_by(TRANSACTIONS.c.opened_at, TRANSACTIONS.c.id, TRANSACTION_TABLES.c.table_id)
)


class Transactions(Repository):
    """What recovery needs to know: the Delta commits of an unfinished transaction are to be undone."""

    def open(self, id: str, at: datetime) -> None:
        self._writing()
        row = {"id": id, "state": TransactionState.OPEN.value, "opened_at": at, "finished_at": None}
        self._execute(insert(TRANSACTIONS), row)

    def touch(self, id: str, table_id: str) -> None:
        """Note that the transaction is about to write this table.

        Must be committed before the Delta commit is made, or recovery would not look for it there.
        """
        self._writing()
        self._upsert(TRANSACTION_TABLES, [{"transaction_id": id, "table_id": table_id}])

    def finish(self, id: str, state: TransactionState) -> None:
        """Record the outcome of an open transaction."""
        scope = self._writing()
        if state is TransactionState.OPEN:
            raise errors.internal(f"transaction {id} cannot finish as {state}.")
        done = self._execute(_FINISH, {"transaction": id, "state": state.value, "finished_at": scope.now})
        if done.rowcount != 1:
            raise errors.internal(f"transaction {id} is not open.")
        self._execute(_FORGET_TABLES, {"transaction": id})

    def state(self, id: str) -> TransactionState | None:
        """The state of a transaction; None if it was never opened, or was trimmed."""
        found = self._execute(select(TRANSACTIONS.c.state).where(TRANSACTIONS.c.id == id)).scalar()
        return None if found is None else TransactionState(found)

    def unfinished(self) -> list[tuple[str, list[str]]]:
        """The open transactions, the oldest first, each with the tables it may have written."""
        found: dict[str, list[str]] = {}
        for id, table_id in self._execute(_UNFINISHED):
            tables = found.setdefault(id, [])
            if table_id is not None:
                tables.append(table_id)
        return list(found.items())
