"""Streaming ingest channels."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.session import Session
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.channels import events, service, sql_functions


def _begin(account: Account) -> None:
    account.services.offer(events, "ChannelEvents")
    channels = account.services.offer(service, "Channels", account)

    def door(session: Session) -> ChannelDoor:
        found: ChannelDoor = channels.door(session)
        return found

    account.channel_doors = door


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Channels"):
        account.services[service.Channels].stop(times.grace)


FEATURE = Feature(
    "channels",
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    stop=_stop,
)
