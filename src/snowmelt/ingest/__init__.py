"""Getting rows in: channels, and what feeds them.

Not here: tables and transactions; those are in `features.channels` and `features.connectors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snowmelt.ingest.channels.channel import Channel
    from snowmelt.ingest.channels.client import StreamingIngestClient
    from snowmelt.ingest.channels.http import Server
    from snowmelt.ingest.channels.ports import Appended, ChannelStatus, OnError, RowError

__all__ = ["Appended", "Channel", "ChannelStatus", "OnError", "RowError", "Server", "StreamingIngestClient"]
_HOMES = {"Channel": "channel", "StreamingIngestClient": "client", "Server": "http"}


def __getattr__(name: str) -> Any:
    """What users import from here, when they do: the account itself needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module 'snowmelt.ingest' has no attribute {name!r}")
    found = getattr(import_module(f"snowmelt.ingest.channels.{_HOMES.get(name, 'ports')}"), name)
    globals()[name] = found
    return found
