"""Getting rows in: channels, and what feeds them.

Not here: tables and transactions; those are in `features.channels` and `features.connectors`.
"""

from snowmelt.ingest.channels.channel import Channel
from snowmelt.ingest.channels.client import StreamingIngestClient
from snowmelt.ingest.channels.http import Server
from snowmelt.ingest.channels.ports import Appended, ChannelStatus, OnError, RowError

__all__ = ["Appended", "Channel", "ChannelStatus", "OnError", "RowError", "Server", "StreamingIngestClient"]
