"""One open channel, as its writer sees it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa

from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.channels import errors
from snowmelt.ingest.channels.ports import Appended, BatchPart, ChannelBatch, ChannelDoor, ChannelStatus, OpenedChannel
from snowmelt.ingest.channels.rows import Row, parts_of

GATHERED_ROWS = 5_000
"""So many single rows become a batch at once; fewer wait for the next round."""
_EVERY = 0.1
"""Seconds between two rounds in which single rows are handed over."""
_ROUND = 1.0
"""Seconds that one question to the door may wait for a commit: a channel that is lost is noticed after it."""
_LOOK = 0.1
"""Seconds between two looks at the committed token."""


class Channel:
    """Writes rows in order. Threads may share it; their calls wait for each other.

    Get one from `StreamingIngestClient.open_channel`. A channel whose rows were refused, or that somebody else opened,
    takes nothing more: open it again and send what comes after its committed offset token.
    """

    def __init__(self, door: ChannelDoor, opened: OpenedChannel, forget: Callable[[Channel], None]) -> None:
        self._door = door
        self._ticket = opened.ticket
        self._forget = forget
        self.opened_status = opened.status
        """As the channel was when it was opened."""
        self._lock = threading.RLock()
        self._rows: list[Row] = []
        self._tokens: list[str | None] = []
        self._number = 0
        self._failure: SnowmeltError | None = None
        self._closed = False
        self._ended = threading.Event()
        self._sender: threading.Thread | None = None

    @property
    def name(self) -> str:
        return self.opened_status.channel_name

    @property
    def table(self) -> str:
        status = self.opened_status
        return f"{status.database_name}.{status.schema_name}.{status.table_name}"

    # -- writing --------------------------------------------------------------------------------------------------

    def insert_row(self, row: Row, offset_token: str | None = None) -> None:
        """Takes one row. It is checked within a tenth of a second; an error surfaces at the next call."""
        with self._lock:
            self._check_usable()
            if len(self._rows) >= GATHERED_ROWS:
                self._send_gathered()
            self._rows.append(row)
            self._tokens.append(offset_token)
            if self._sender is None:
                # Not the client's: a channel whose table is locked must not keep the others waiting.
                self._sender = threading.Thread(target=self._send_often, name=f"channel-{self.name}", daemon=True)
                self._sender.start()

    def insert_rows(self, rows: Iterable[Row], offset_token: str | None = None) -> Appended:
        """Takes rows as one batch, checked before this returns: all of it is committed, or nothing."""
        listed = rows if isinstance(rows, Sequence) else list(rows)
        return self._append(lambda: parts_of(listed), None, offset_token)

    def append_row(self, row: Row, offset_token: str | None = None) -> None:
        """Does what `insert_row` does, under its name in newer clients."""
        self.insert_row(row, offset_token)

    def append_rows(
        self,
        rows: pa.Table | pa.RecordBatch | Iterable[Row],
        start_offset_token: str | None = None,
        end_offset_token: str | None = None,
        *,
        offset_token: str | None = None,
    ) -> Appended:
        """Takes an Arrow table, or rows, as one batch. `offset_token` is another name for `end_offset_token`."""
        end = end_offset_token if end_offset_token is not None else offset_token
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        if isinstance(rows, pa.Table):
            parts = (BatchPart(rows),)
            return self._append(lambda: parts, start_offset_token, end)
        listed = rows if isinstance(rows, Sequence) else list(rows)
        return self._append(lambda: parts_of(listed), start_offset_token, end)

    def _append(self, parts: Callable[[], tuple[BatchPart, ...]], start: str | None, end: str | None) -> Appended:
        with self._lock:
            self._check_usable()
            self._send_gathered()
            return self._send(parts(), start, end)

    def _send_often(self) -> None:
        while not self._ended.wait(_EVERY):
            with self._lock:
                if self._failure is not None:
                    return
                # What fails is kept for the next call to raise, or tried again.
                with contextlib.suppress(SnowmeltError):
                    self._send_gathered()

    def _send_gathered(self) -> None:
        if not self._rows:
            return
        rows, tokens = self._rows, self._tokens
        self._rows, self._tokens = [], []
        last = next((token for token in reversed(tokens) if token is not None), None)
        first = next((token for token in tokens if token is not None), None)
        try:
            self._send(parts_of(rows, tokens if first is not None else None), first, last)
        except SnowmeltError as error:
            if error.transient:
                self._rows, self._tokens = rows, tokens
            else:
                # The rows behind it must not overtake it: the channel ends here.
                self._failure = error
            raise

    def _send(self, parts: tuple[BatchPart, ...], start: str | None, end: str | None) -> Appended:
        if not parts and end is None:
            return Appended()
        number = self._number + 1
        try:
            found = self._door.append(self._ticket, ChannelBatch(number, parts, start, end))
        except errors.ChannelInvalidError as error:
            self._failure = error
            raise
        self._number = number
        return found

    # -- progress -------------------------------------------------------------------------------------------------

    def get_latest_committed_offset_token(self) -> str | None:
        """The token of the newest batch that is visible in the table; None when no batch had one yet."""
        return self.get_channel_status().latest_committed_offset_token

    def get_channel_status(self) -> ChannelStatus:
        return self._door.status(self._ticket)

    def wait_for_commit(
        self, token: str | Callable[[str | None], bool] | None = None, timeout_seconds: float = 60.0
    ) -> bool:
        """Waits until a token is committed, at most so long; whether it is.

        `token`: one that was given with rows; or a function that says of the committed token whether it is enough; or
        None for everything sent so far. Raises when the channel failed.
        """
        deadline = time.monotonic() + timeout_seconds
        with self._lock:
            self._check_usable()
            self._send_gathered()
            number = self._number
        while not self._is_committed(token):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            if callable(token):
                # Other threads may go on sending: what it waits for may be yet to come.
                self._door.wait(self._ticket, self._number + 1, min(remaining, _LOOK))
            elif self._door.wait(self._ticket, number, min(remaining, _ROUND)):
                return True
            self._check_usable()
        return True

    def _is_committed(self, token: str | Callable[[str | None], bool] | None) -> bool:
        if token is None:
            return False
        committed = self.get_latest_committed_offset_token()
        return token(committed) if callable(token) else committed == token

    def initiate_flush(self) -> None:
        """Commits what was sent now, without waiting for its time."""
        with self._lock:
            self._check_usable()
            self._send_gathered()
            self._door.flush(self._ticket)

    def wait_for_flush(self, timeout_seconds: float = 60.0) -> bool:
        """Commits everything that was sent, and waits for it."""
        self.initiate_flush()
        return self.wait_for_commit(timeout_seconds=timeout_seconds)

    # -- ending ---------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self, *, wait_for_flush: bool = True, drop: bool = False) -> None:
        """Commits what was sent and lets the channel go; again does nothing. `drop` also forgets its token."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._ended.set()
            self._forget(self)
            try:
                if wait_for_flush and self._failure is None:
                    self._send_gathered()
                self._door.close(self._ticket)
            except errors.ChannelInvalidError:
                # Somebody else has it, or it is gone: nothing is left to close. Who wrote to it has heard so, or
                # has rows that are not committed and must hear it now.
                if wait_for_flush and self._failure is None:
                    raise
            if drop:
                self._door.drop(self.table, self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(wait_for_flush=error is None)

    def _check_usable(self) -> None:
        if self._closed:
            raise errors.closed(self.name)
        if self._failure is not None:
            raise self._failure
