"""Which changes of a stream a statement or transaction reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from snowmelt.state.model import CatalogObject
from snowmelt.state.stream_model import StreamState


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """The changes that one statement or transaction reads: after the offset, up to a version of each base table."""

    stream: CatalogObject
    state: StreamState
    upto: Mapping[str, int]
    upto_at: datetime

    @property
    def consumed(self) -> StreamState:
        """Where the stream stands once these changes are consumed; initial rows come before all changes."""
        if self.state.initial:
            return self.state.model_copy(update={"initial": False})
        return self.state.model_copy(update={"offsets": dict(self.upto), "offset_at": self.upto_at})
