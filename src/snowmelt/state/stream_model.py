"""Where streams stand: the offsets that consumption moves."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from snowmelt.state.record import Record


class StreamState(Record):
    """Where a stream stands. Two that are equal have consumed the same."""

    stream_id: str
    offsets: dict[str, int] = Field(default_factory=dict)
    """The version of every base table up to which changes are consumed, by table id."""
    offset_at: datetime
    """The instant that the offsets belong to."""
    initial: bool = False
    """SHOW_INITIAL_ROWS, and they are not consumed yet."""
    renewed_at: datetime
    """When it was last consumed, or known to be empty: staleness counts from here."""
    fingerprint: str = ""
    """A hash of the views that it reads. If a view changed, the stored offset is no longer valid."""
