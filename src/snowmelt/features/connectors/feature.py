"""Connectors: change data capture from other databases."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.connectors.kind import KIND
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.connectors import events, service


def _begin(account: Account) -> None:
    account.services.offer(events, "ConnectorEvents")
    account.services.offer(service, "Connectors", account)


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Connectors"):
        account.services[service.Connectors].stop(times.grace)


FEATURE = Feature(
    "connectors",
    kinds=(KIND,),
    begin=_begin,
    stop=_stop,
)
