"""Channels: who may write to them, and how far they have come."""

from __future__ import annotations

from datetime import datetime

from snowmelt.state.record import Record


class ChannelState(Record):
    """A channel on a table. Changes with every commit, in the transaction that makes its rows visible."""

    id: str
    table_id: str
    name: str
    owner: str | None = None
    """The role that made it; None in data directories of older versions."""
    created_on: datetime
    opened_on: datetime
    client_sequencer: int = 0
    """How often it was opened."""
    row_sequencer: int = 0
    """How many batches it committed: the `txn` version in the Delta log."""
    offset_token: str | None = None
    rows_inserted: int = 0
    rows_rejected: int = 0
    bytes: int = 0
    last_committed_on: datetime | None = None
    last_error: str | None = None
    last_error_on: datetime | None = None
    last_error_offset: str | None = None


class ChannelMinute(Record):
    """What a channel committed in one minute."""

    channel_id: str
    name: str
    table_id: str
    minute: datetime
    """Its beginning."""
    commits: int = 0
    rows_inserted: int = 0
    rows_rejected: int = 0
    bytes: int = 0
    waited_seconds: float = 0.0
    """The sum over all batches of the time from being accepted to being visible."""
    batches: int = 0
    end_offset: str | None = None
    last_error: str | None = None
