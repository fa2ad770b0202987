"""Observing: freshness, availability, costs and metrics."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.observing import service, sql_functions


def _begin(account: Account) -> None:
    account.services.offer(service, "Observing", account)


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Observing"):
        account.services[service.Observing].stop()


FEATURE = Feature(
    "observing",
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    stop=_stop,
)
