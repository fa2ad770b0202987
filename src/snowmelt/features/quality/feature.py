"""Quality checks, the gate, and quarantine."""

from __future__ import annotations

from snowmelt.features.quality import listing as quality
from snowmelt.features.quality.commands import HANDLERS
from snowmelt.features.quality.gate import QualityGate
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.table_functions import TableFunction


def _begin(account: Account) -> None:
    account.gate = gate = QualityGate(account)
    account.transactions.gate = gate.check


FEATURE = Feature(
    "quality",
    handlers=HANDLERS,
    table_functions=(
        TableFunction(
            "QUALITY_CHECK_HISTORY",
            quality.HISTORY_ARGUMENTS,
            quality.HISTORY_COLUMNS,
            quality.history,
            about="TABLE_NAME",
        ),
    ),
    begin=_begin,
)
