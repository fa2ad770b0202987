"""Connectors: change data capture from other databases."""

from __future__ import annotations

from snowmelt.features.connectors.events import ConnectorEvents
from snowmelt.features.connectors.kind import KIND
from snowmelt.features.connectors.service import Connectors
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes


def _begin(account: Account) -> None:
    account.services.add(ConnectorEvents())
    account.services.add(Connectors(account))


def _stop(account: Account, times: StopTimes) -> None:
    account.services[Connectors].stop(times.grace)


FEATURE = Feature(
    "connectors",
    kinds=(KIND,),
    begin=_begin,
    stop=_stop,
)
