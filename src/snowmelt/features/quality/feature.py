"""Quality checks, the gate, and quarantine."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.transactions import PendingTable, Transaction
from snowmelt.sql.statements.quality import ExecuteQualityChecks

with lazy_imports():
    from snowmelt.features.quality import gate, sql_functions
    from snowmelt.features.quality.commands import execute_checks


def _begin(account: Account) -> None:
    account.gate = offered = account.services.offer(gate, "QualityGate", account)

    def check(transaction: Transaction, items: Sequence[PendingTable]) -> None:
        offered.check(transaction, items)

    account.transactions.gate = check


FEATURE = Feature(
    "quality",
    functions=lambda: sql_functions.FUNCTIONS,
    handlers={
        ExecuteQualityChecks: execute_checks,
    },
    begin=_begin,
)
