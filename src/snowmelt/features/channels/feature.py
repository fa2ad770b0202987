"""Streaming ingest channels."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import ShownRows
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.session import Session
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.channels import events, listing, service, sql_functions
    from snowmelt.features.channels.error_tables import base_of
    from snowmelt.features.channels.listing import channels


def _begin(account: Account) -> None:
    account.services.offer(events, "ChannelEvents")
    offered = account.services.offer(service, "Channels", account)

    def door(session: Session) -> ChannelDoor:
        found: ChannelDoor = offered.door(session)
        return found

    account.channel_doors = door
    account.set_aside.append(base_of)


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Channels"):
        account.services[service.Channels].stop(times.grace)


FEATURE = Feature(
    "channels",
    shows=(ShownRows(word="CHANNELS", listing=Listing(channels), columns=lambda _: listing.COLUMNS),),
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    stop=_stop,
)
