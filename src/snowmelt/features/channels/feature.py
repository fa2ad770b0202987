"""Streaming ingest channels."""

from __future__ import annotations

from snowmelt.features.channels import error_tables
from snowmelt.features.channels import listing as channels
from snowmelt.features.channels.events import ChannelEvents
from snowmelt.features.channels.service import Channels
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import ShownRows
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.stopping import StopTimes
from snowmelt.runtime.table_functions import TableFunction


def _begin(account: Account) -> None:
    account.services.add(ChannelEvents())
    account.channel_doors = account.services.add(Channels(account)).door


def _stop(account: Account, times: StopTimes) -> None:
    account.services[Channels].stop(times.grace)


FEATURE = Feature(
    "channels",
    shows=(ShownRows(word="CHANNELS", listing=Listing(channels.channels), columns=channels.COLUMNS),),
    relation_functions={"ERROR_TABLE": error_tables.relation},
    table_functions=(
        TableFunction(
            "SNOWPIPE_STREAMING_CHANNEL_HISTORY",
            channels.HISTORY_ARGUMENTS,
            channels.HISTORY_COLUMNS,
            channels.history,
            about="TABLE_NAME",
        ),
    ),
    begin=_begin,
    stop=_stop,
)
