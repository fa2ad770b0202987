"""Upkeep: small files, old versions and histories, in the background."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.upkeep import functions as upkeep
from snowmelt.features.upkeep.purge import purge
from snowmelt.features.upkeep.records import trim_histories
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

_TRIMMED_AT_OPENING = 1000
"""Rows of each history; the rest is for upkeep."""


def _begin(account: Account) -> None:
    account.services.add(Upkeep(account))


def _opened(account: Account) -> None:
    purge(account)
    trim_histories(account, account.clock.now(), most=_TRIMMED_AT_OPENING)


def _stop(account: Account, times: StopTimes) -> None:
    account.services[Upkeep].stop(times.grace)


FEATURE = Feature(
    "upkeep",
    system_functions={
        "SYSTEM$UPKEEP": SystemFunction(0, 0, types.VARCHAR, upkeep.run_upkeep, only_called=True),
        "SYSTEM$UPKEEP_PLAN": SystemFunction(0, 0, types.VARCHAR, upkeep.planned),
    },
    table_functions=(TableFunction("UPKEEP_HISTORY", ("RESULT_LIMIT",), upkeep.HISTORY_COLUMNS, upkeep.history),),
    begin=_begin,
    opened=_opened,
    stop=_stop,
)
