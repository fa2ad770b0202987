"""A channel that somebody has open, and the batches that wait for their commit."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.channels.checking import CheckedRows
from snowmelt.ingest.channels import errors
from snowmelt.ingest.channels.ports import Appended, ChannelBatch, ChannelStatus, OnError
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

_RECENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Commit:
    at: float
    rows: int
    bytes: int
    waited: float


@dataclass(slots=True)
class OpenChannel:
    """Guarded by the condition of its table's writer, except for what `appending` guards."""

    state: ChannelState
    """As committed last."""
    on_error: OnError
    schema_evolution: bool
    session: Session
    """Whose rights its rows are written with."""
    appending: threading.Lock = field(default_factory=threading.Lock)
    """One batch at a time is checked and queued, so that they are queued in their order."""
    accepted: int = 0
    """The number of the newest batch that was queued."""
    answer: Appended = field(default_factory=Appended)
    """What was said about it."""
    committed: int = 0
    """The number of the newest batch that is visible."""
    failure: SnowmeltError | None = None
    """Why it takes nothing more."""
    trouble: str | None = None
    """Why commits do not succeed at the moment."""
    _recent: deque[_Commit] = field(default_factory=deque)

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def sequencer(self) -> int:
        return self.state.client_sequencer

    def refuse(self, checked: CheckedRows) -> None:
        """Raises for the first bad row where a batch must have none."""
        if checked.rejected and self.on_error is OnError.ABORT:
            first = checked.rejected[0]
            raise errors.row_refused(first.row, first.column, first.code, first.sqlstate, first.message)

    def note(self, rows: int, size: int, waited: float) -> None:
        """A batch of it became visible."""
        now = time.monotonic()
        self._recent.append(_Commit(now, rows, size, waited))
        while self._recent[0].at < now - _RECENT_SECONDS:
            self._recent.popleft()

    def rates(self) -> tuple[float, float, float | None]:
        """Rows and bytes a second, and the average wait for a commit, over the last minute."""
        now = time.monotonic()
        recent = [commit for commit in self._recent if commit.at >= now - _RECENT_SECONDS]
        if not recent:
            return 0.0, 0.0, None
        span = max(now - min(commit.at - commit.waited for commit in recent), 0.001)
        rows, size = sum(commit.rows for commit in recent), sum(commit.bytes for commit in recent)
        return rows / span, size / span, sum(commit.waited for commit in recent) / len(recent)


@dataclass(slots=True)
class Entry:
    """A batch on its way into the table."""

    channel: OpenChannel
    batch: ChannelBatch
    """As it was sent: checked again when the table changes before it is committed."""
    table: CatalogObject
    """What it was checked against."""
    checked: CheckedRows
    accepted_at: float

    @property
    def bytes(self) -> int:
        return self.checked.bytes


def status(
    table: CatalogObject, state: ChannelState, channel: OpenChannel | None, waiting: list[Entry]
) -> ChannelStatus:
    """`waiting`: the channel's batches that are not visible yet, oldest first."""
    rates = channel.rates() if channel is not None else (0.0, 0.0, None)
    failure = channel.failure if channel is not None else None
    trouble = channel.trouble if channel is not None else None
    code = "SUCCESS" if failure is None else failure.code
    return ChannelStatus(
        database_name=table.name.database,
        schema_name=table.name.schema,
        table_name=table.name.name,
        channel_name=state.name,
        status_code=code,
        latest_committed_offset_token=state.offset_token,
        client_sequencer=state.client_sequencer,
        row_sequencer=state.row_sequencer,
        rows_inserted_count=state.rows_inserted,
        rows_parsed_count=state.rows_inserted + state.rows_rejected,
        rows_error_count=state.rows_rejected,
        created_on=state.created_on,
        last_committed_on=state.last_committed_on,
        last_error_message=failure.message if failure is not None else trouble or state.last_error,
        last_error_offset_token_upper_bound=state.last_error_offset,
        last_error_on=state.last_error_on,
        pending_rows=sum(entry.checked.rows for entry in waiting),
        pending_bytes=sum(entry.bytes for entry in waiting),
        lag_seconds=time.monotonic() - waiting[0].accepted_at if waiting else 0.0,
        rows_per_second=rates[0],
        bytes_per_second=rates[1],
        average_latency_seconds=rates[2],
    )
