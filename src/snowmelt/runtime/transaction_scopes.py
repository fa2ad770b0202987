"""Which transactions a procedure or block may end."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.protocols import TransactionHolder


@dataclass(slots=True)
class TransactionScope:
    """The transactions of one procedure or block: it may end only those that it began itself."""

    outer: Transaction | None
    around: TransactionScope | None = None
    began: bool = False

    def holds(self, table_id: str, transaction: Transaction) -> bool:
        """Whether a caller's transaction that waits for this one has the table: neither would ever go on."""
        scope: TransactionScope | None = self
        while scope is not None:
            if scope.outer is not None and scope.outer is not transaction and table_id in scope.outer.pending:
                return True
            scope = scope.around
        return False

    def resume(self, session: TransactionHolder) -> None:
        """Back to the caller's transaction, when the one begun inside has ended."""
        if session.transaction is None:
            session.transaction = self.outer
