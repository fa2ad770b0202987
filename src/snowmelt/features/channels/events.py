"""What happens in channels, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.runtime.run import Run
from snowmelt.runtime.table_events import Around
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import CatalogObject


class ChannelEvents:
    def __init__(self) -> None:
        self.committing: Around[[Run, CatalogObject, Sequence[ChannelState], int]] = Around()
        """Rows that channels took become visible in a table: so many."""
