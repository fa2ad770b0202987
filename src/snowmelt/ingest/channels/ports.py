"""What a client asks of whoever commits its rows: the account in this process, or a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import pyarrow as pa


class OnError(StrEnum):
    CONTINUE = "CONTINUE"
    """A bad row goes to the table's error table, and the others go on."""
    ABORT = "ABORT"
    """A bad row refuses its batch."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    channel: str
    table: str
    """As SQL would name it; the door completes it with its database and schema."""
    offset_token: str | None = None
    """Becomes the committed token, for a writer that begins somewhere else; None leaves it as it is."""
    on_error: OnError = OnError.CONTINUE
    schema_evolution: bool = False
    """Whether columns that the table lacks are added to it."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """The right to write to a channel, until somebody else opens it."""

    channel_id: str
    client_sequencer: int


@dataclass(frozen=True, slots=True)
class BatchPart:
    """Rows that give values for the same columns."""

    rows: pa.Table
    """Columns under the names that the writer gave them."""
    tokens: tuple[str | None, ...] | None = None
    """Of every row, where each has one of its own."""
    positions: tuple[int, ...] | None = None
    """Of every row, its position in the batch, where the parts do not simply follow each other."""


@dataclass(frozen=True, slots=True)
class ChannelBatch:
    """What is committed together or not at all."""

    number: int
    """1, 2, 3, … since the channel was opened: one that comes twice counts once."""
    parts: tuple[BatchPart, ...]
    start_token: str | None = None
    end_token: str | None = None
    """Committed with the rows; None leaves the committed token as it is."""

    @property
    def rows(self) -> int:
        return sum(part.rows.num_rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class RowError:
    row: int
    """From 0, in the batch."""
    column: str | None
    code: str
    message: str
    offset_token: str | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of the rows of one call."""

    rows: int = 0
    """Accepted: checked, and to be committed."""
    rejected: int = 0
    errors: tuple[RowError, ...] = field(default=())
    """The first of them."""


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    database_name: str
    schema_name: str
    table_name: str
    channel_name: str
    status_code: str
    """SUCCESS while it takes rows; else why not."""
    latest_committed_offset_token: str | None
    client_sequencer: int
    row_sequencer: int
    rows_inserted_count: int
    rows_parsed_count: int
    rows_error_count: int
    created_on: datetime
    last_committed_on: datetime | None = None
    last_error_message: str | None = None
    last_error_offset_token_upper_bound: str | None = None
    last_error_on: datetime | None = None
    pending_rows: int = 0
    """Accepted and not committed yet."""
    pending_bytes: int = 0
    lag_seconds: float = 0.0
    """How long the oldest of them has been waiting."""
    rows_per_second: float = 0.0
    """Committed over the last minute."""
    bytes_per_second: float = 0.0
    average_latency_seconds: float | None = None
    """From being accepted to being visible, over the last minute."""


@dataclass(frozen=True, slots=True)
class OpenedChannel:
    ticket: Ticket
    status: ChannelStatus


class ChannelDoor(Protocol):
    """Raises SnowmeltError for everything that it refuses."""

    def open(self, request: OpenRequest) -> OpenedChannel:
        """Opens the channel. Creates it if there is no channel of that name."""
        ...

    def append(self, ticket: Ticket, batch: ChannelBatch) -> Appended:
        """Checks rows and takes them over. They are committed soon, in the order of the calls."""
        ...

    def wait(self, ticket: Ticket, number: int, seconds: float) -> bool:
        """Waits until the batch of that number and all before it are committed, at most so long; whether they are."""
        ...

    def flush(self, ticket: Ticket) -> None:
        """Commits what was taken over without waiting for its time."""
        ...

    def status(self, ticket: Ticket) -> ChannelStatus: ...

    def statuses(self, table: str, channels: Sequence[str]) -> dict[str, ChannelStatus]:
        """Of channels by name, open or not; those that do not exist are left out."""
        ...

    def close(self, ticket: Ticket) -> None:
        """Commits what was taken over and lets the channel go. What it committed stays known."""
        ...

    def drop(self, table: str, channel: str) -> None:
        """Forgets the channel and its token. What was not committed is gone; rows stay in the table."""
        ...


class HasChannelDoor(Protocol):
    """A connection or session in this process."""

    def channel_door(self) -> ChannelDoor: ...
