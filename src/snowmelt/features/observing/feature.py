"""Observing: freshness, availability, costs and metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.observing import service, sql_functions


def _begin(account: Account) -> None:
    observing = account.services.offer(service, "Observing", account)

    def told(name: str) -> Callable[..., None]:
        """What happens is counted from when somebody asks for the counts, which a server does as it starts."""

        def tell(*facts: Any) -> None:
            if account.services.is_made("Observing"):
                getattr(observing, name)(*facts)

        return tell

    account.events.statement_recorded.subscribe(told("query_ended"))
    account.events.refresh_ended.subscribe(told("refresh_ended"))
    account.events.task_ended.subscribe(told("task_ended"))


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Observing"):
        account.services[service.Observing].stop()


FEATURE = Feature(
    "observing",
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    stop=_stop,
)
