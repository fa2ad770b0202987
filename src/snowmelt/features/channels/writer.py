"""The thread that commits what the channels of one table have taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import QualityFailedError, SnowmeltError, StatementConflictError, TableChangedError
from snowmelt.features.channels import committing
from snowmelt.features.channels.checking import check
from snowmelt.features.channels.opened import Entry, OpenChannel
from snowmelt.ingest.channels import errors
from snowmelt.runtime.rights.authority import SYSTEM
from snowmelt.runtime.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

FLUSH_SECONDS = 1.0
FLUSH_BYTES = 32 << 20
"""This many bytes of Arrow memory are committed at once, without waiting for the interval."""
MOST_BYTES = 256 << 20
"""So much may wait; then writers wait."""
_PATIENCE = 30.0
"""Seconds that a writer waits for space."""
_AGAIN = 0.5
"""Seconds before a commit that failed is tried again."""
_log = structlog.get_logger(__name__)


class TableWriter:
    """Queues batches and commits them in order. Lives while the table has open channels."""

    def __init__(self, account: Account, table: CatalogObject, committed: Callable[[CatalogObject], None]) -> None:
        """`committed` is called after every commit, in the writer's thread."""
        self._account = account
        self._committed = committed
        self.table = table
        self.condition = threading.Condition()
        self._channels: set[str] = set()
        """The ids of those that are open."""
        self._queue: list[Entry] = []
        self._committing: list[Entry] = []
        self._bytes = 0
        self._run_now: Run | None = None
        """The commit under way."""
        self._flush_asked = False
        self._stopping = False
        self.session = account.session(
            user=SYSTEM, role=table.owner, database=table.name.database, schema=table.name.schema
        )
        self._thread = threading.Thread(target=self._run, name=f"channels-{table.name.name}", daemon=True)
        self._thread.start()

    def add(self, channel: OpenChannel) -> None:
        with self.condition:
            self._channels.add(channel.id)

    @property
    def is_idle(self) -> bool:
        return not self._channels

    # -- taking batches -------------------------------------------------------------------------------------------

    def put(self, entry: Entry) -> None:
        """Queues a batch that was checked, waiting for space; raises when there is none for long."""
        deadline = time.monotonic() + _PATIENCE
        with self.condition:
            while self._bytes and self._bytes + entry.bytes > MOST_BYTES:
                self._raise_failure(entry.channel)
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise errors.queue_full(str(self.table.name), _PATIENCE)
                self.condition.wait(remaining)
            self._raise_failure(entry.channel)
            self._queue.append(entry)
            self._bytes += entry.bytes
            entry.channel.accepted = entry.batch.number
            self.condition.notify_all()

    def waiting(self, channel: OpenChannel) -> list[Entry]:
        """The channel's batches that are not visible yet, oldest first. The caller holds the condition."""
        return [entry for entry in (*self._committing, *self._queue) if entry.channel is channel]

    def flush(self) -> None:
        with self.condition:
            self._flush_asked = True
            self.condition.notify_all()

    def wait(self, channel: OpenChannel, number: int, seconds: float) -> bool:
        """Until the channel's batches up to a number are visible; whether they are. Raises when they never will be."""
        deadline = time.monotonic() + seconds
        with self.condition:
            while channel.committed < number:
                self._raise_failure(channel)
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self.condition.wait(remaining)
            return True

    def fence(self, channel: OpenChannel, failure: SnowmeltError) -> None:
        """Takes the channel from its writer: what waits is dropped, a commit under way is waited for.

        One that waits for the table itself is broken off, and goes on without the channel.
        """
        with self.condition:
            self._fail(channel, failure)
            if self._run_now is not None and self._is_committing(channel):
                self._run_now.cancelled = True
                self._account.locks.wake()
            while self._is_committing(channel):
                self.condition.wait()
            self._channels.discard(channel.id)

    def _is_committing(self, channel: OpenChannel) -> bool:
        return any(entry.channel is channel for entry in self._committing)

    def stop(self, timeout: float) -> None:
        """Commits what waits, and ends. What can't be committed in so many seconds is left to its writers."""
        with self.condition:
            self._stopping = True
            self.condition.notify_all()
        self._thread.join(timeout)
        self.session.close()

    def _raise_failure(self, channel: OpenChannel) -> None:
        if channel.failure is not None:
            raise channel.failure

    def _fail(self, channel: OpenChannel, failure: SnowmeltError) -> None:
        channel.failure = channel.failure or failure
        self._queue = [entry for entry in self._queue if entry.channel is not channel]
        self._count()
        self.condition.notify_all()

    def _count(self) -> None:
        self._bytes = sum(entry.bytes for entry in (*self._committing, *self._queue))

    # -- committing -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._take():
            try:
                self._commit_taken()
            except Exception:
                # A defect of ours: the channels end, and their writers hear of it.
                _log.exception("channel commit failed unexpectedly", table=str(self.table.name))
                self._give_up(errors.ChannelInvalidError(f"Rows for '{self.table.name}' could not be committed."))

    def _take(self) -> bool:
        """Waits until something is due and takes all that is there; False when it is time to end."""
        with self.condition:
            while not self._is_due():
                if self._stopping:
                    return False
                self.condition.wait(self._time_left())
            self._committing, self._queue = self._queue, []
            self._flush_asked = False
            return True

    def _is_due(self) -> bool:
        if not self._queue:
            self._flush_asked = False
            return False
        hurry = self._flush_asked or self._stopping or self._bytes >= FLUSH_BYTES
        return hurry or time.monotonic() - self._queue[0].accepted_at >= FLUSH_SECONDS

    def _time_left(self) -> float | None:
        return max(0.0, self._queue[0].accepted_at + FLUSH_SECONDS - time.monotonic()) if self._queue else None

    def _commit_taken(self) -> None:
        while self._leave_out_fenced():
            # Writers may look the table up again at any moment: all of this commit goes by what it is now.
            table, run = self.table, Run(self.session, SqlText(""))
            self._check_again(table)
            with self.condition:
                self._run_now = run
            if not self._leave_out_fenced():
                return
            try:
                after = committing.commit(run, table, self._committing)
            except TableChangedError:
                if not self.refresh():
                    self._give_up(None)
            except StatementConflictError:
                continue
            except QualityFailedError as error:
                self._after_refusal(error)
            except SnowmeltError as error:
                if not run.cancelled:
                    self._after_failure(error)
            else:
                self._note(after)
                self._committed(table)

    def _leave_out_fenced(self) -> bool:
        """Whether anything is left to commit."""
        with self.condition:
            self._committing = [entry for entry in self._committing if entry.channel.failure is None]
            self.condition.notify_all()
            return bool(self._committing)

    def _check_again(self, table: CatalogObject) -> None:
        """Rows that were checked for other columns than the table has now."""
        for entry in self._committing:
            if entry.table.definition == table.definition:
                continue
            entry.table, entry.checked = table, check(Run(entry.channel.session, SqlText("")), table, entry.batch)
            try:
                entry.channel.refuse(entry.checked)
            except SnowmeltError as refused:
                with self.condition:
                    self._fail(entry.channel, errors.ChannelInvalidError(refused.message))

    def _note(self, after: dict[str, ChannelState]) -> None:
        now = time.monotonic()
        with self.condition:
            for entry in self._committing:
                channel = entry.channel
                channel.committed = entry.batch.number
                channel.trouble = None
                channel.state = after[channel.id]
                channel.note(entry.checked.rows, entry.bytes, now - entry.accepted_at)
            self._committing = []
            self._count()
            self.condition.notify_all()

    def _after_failure(self, error: SnowmeltError) -> None:
        """A full disk, a table that is locked for long: nothing is lost, and it is tried again until it succeeds."""
        after = committing.committed_all_the_same(self._account.state, self._committing)
        if after is not None:
            self._note(after)
            return
        if self._current_table() is None:
            self._give_up(None)
            return
        _log.warning("channel_commit_postponed", table=str(self.table.name), error=str(error))
        with self.condition:
            for entry in self._committing:
                entry.channel.trouble = str(error)
            if self._stopping:
                self._give_up(error)
                return
            self.condition.wait_for(lambda: self._stopping, _AGAIN)

    def _after_refusal(self, error: QualityFailedError) -> None:
        """Rows that a check refuses it refuses again. Only the channel that they came through ends."""
        with self.condition:
            first = self._committing[0].channel
            others = [entry for entry in self._committing if entry.channel is not first]
            if others:
                # Each channel's rows are committed alone, which shows whose rows fail.
                self._committing = [entry for entry in self._committing if entry.channel is first]
                self._queue = [*others, *self._queue]
                return
            self._give_up(errors.refused_by_checks(first.state.name, error.message))

    def _give_up(self, error: SnowmeltError | None) -> None:
        """The batches at hand can't be committed any more; without an error, because the table is gone."""
        with self.condition:
            channels = {entry.channel.id: entry.channel for entry in self._committing}.values()
            self._committing = []
            for channel in channels:
                self._fail(channel, error or errors.table_gone(channel.state.name, str(self.table.name)))
            self.condition.notify_all()

    # -- a table that changes -------------------------------------------------------------------------------------

    def _current_table(self) -> CatalogObject | None:
        with self._account.state.read() as state:
            found = state.catalog.by_id(self.table.id)
        return found if found is not None and found.dropped_on is None else None

    def refresh(self) -> bool:
        """Looks the table up again; whether it is still there."""
        found = self._current_table()
        if found is not None:
            self.table = found
        return found is not None
