"""Pipes."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.pipes.kind import KIND
from snowmelt.features.pipes.statements import RefreshPipe
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.pipes import service, sql_functions

_WAKING = frozenset({"CREATE_PIPE", "ALTER_PIPE"})


def _begin(account: Account) -> None:
    account.services.offer(service, "Pipes", account)

    def wake() -> None:
        if account.services.is_made("Pipes"):
            account.services[service.Pipes].wake()

    account.events.wake_after(_WAKING, wake)


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Pipes"):
        account.services[service.Pipes].stop(times.grace)


FEATURE = Feature(
    "pipes",
    functions=lambda: sql_functions.FUNCTIONS,
    kinds=(KIND,),
    scripts=(RefreshPipe,),
    begin=_begin,
    stop=_stop,
)
