"""What the runner needs of the rest: a catalog to read and to record in, and somebody who refreshes one table.

The feature dynamic tables implements both. Every method may be called from another thread than the one before;
those of the refresher run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from snowmelt.scheduler.graph import LagGraph, Round, Suspension


class RefreshEnd(StrEnum):
    """How a refresh ended, in the words of DYNAMIC_TABLE_REFRESH_HISTORY."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UPSTREAM_FAILED = "UPSTREAM_FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"
    """The runner was stopped. Unlike FAILED it is no failure of the table."""


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """One refresh of one table. Every upstream dynamic table has been refreshed at exactly `data_timestamp`."""

    table: str
    data_timestamp: datetime
    ready_at: datetime
    """When all inputs were ready. From here to the end is the duration that the next graph reports: waiting for a free
    worker delays the readers of a table as much as computing does."""
    completion_target: datetime | None
    """What COMPLETION_TARGET of the history shows."""
    expected_duration: timedelta


@dataclass(frozen=True, slots=True)
class FailedRefresh:
    """A refresh that did not succeed."""

    table: str
    data_timestamp: datetime
    state: RefreshEnd
    error: BaseException | None = None
    """Why it failed; for UPSTREAM_FAILED why the upstream table did."""
    ready_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


class SchedulerCatalog(Protocol):
    def load(self) -> LagGraph:
        """All dynamic tables as they are now, in one read. It is called at every tick, so it must be cheap."""
        ...

    def record(self, outcomes: Sequence[FailedRefresh]) -> None:
        """Add rows to the refresh history in one transaction.

        FAILED counts one more failure in a row; nothing else does. Rows of tables that are gone are left out.
        From then on the tables' `attempted` is at least the row's data timestamp.
        """
        ...

    def suspend(self, suspension: Suspension) -> None:
        """Suspend a table because of its failures. RESUME sets its failures to 0."""
        ...


class Refresher(Protocol):
    def begin(self, round_: Round) -> datetime:
        """The data timestamp of a round that is about to start: the one planned, or a later instant up to now.

        Here is the place to look for what other tools wrote to the sources, so that the round sees it, and to wait for
        writers that might still commit something at or before the data timestamp.
        """
        ...

    def refresh(self, request: RefreshRequest) -> RefreshEnd:
        """Bring one table to the data timestamp, and record that together with the data: SUCCEEDED.

        An upstream dynamic table is read at the version that belongs to the data timestamp, not at its newest: it may
        be refreshed again while those that read it still wait. A table that somebody refreshes by hand at this moment,
        or that stands beyond the data timestamp because somebody did, is SKIPPED: the runner records that.

        Raises what went wrong, having changed nothing; `transient` errors are tried again.
        """
        ...

    def cancel(self, table: str) -> None:
        """Make a running `refresh` of the table raise soon. Does nothing if none is."""
        ...
