"""What the scheduler knows of dynamic tables: frozen values, as the catalog loads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum


class Downstream(Enum):
    """The target lag of a table that is as fresh as those that read it need it, and no fresher."""

    DOWNSTREAM = "DOWNSTREAM"


DOWNSTREAM = Downstream.DOWNSTREAM
TargetLag = timedelta | Downstream


class SchedulingState(StrEnum):
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    DISABLED = "DISABLED"
    """SCHEDULER = DISABLE: refreshed by hand only, and to those that read it no more than a base table."""


@dataclass(frozen=True, slots=True)
class DynamicTable:
    id: str
    name: str
    """For messages and logs only."""
    target_lag: TargetLag
    upstream: tuple[str, ...] = ()
    """Ids of the dynamic tables it reads and is refreshed together with; none across a refresh boundary."""
    sources: tuple[str, ...] = ()
    """Ids of the base tables it reads: two tables over one source belong to one connected graph."""
    beyond: tuple[str, ...] = ()
    """Ids of the dynamic tables it reads across a refresh boundary."""
    state: SchedulingState = SchedulingState.ACTIVE
    data_timestamp: datetime | None = None
    """What the table stands at; None until it was first refreshed."""
    attempted: datetime | None = None
    """The newest data timestamp in its refresh history, however that refresh ended, SKIPPED included."""
    worked: datetime | None = None
    """The data timestamp of the latest refresh that found something to do."""
    refreshing: datetime | None = None
    """The data timestamp of the refresh under way or waiting for its turn, scheduled or manual."""
    working: bool = False
    """Whether the refresh under way is expected to find changes."""
    failures: int = 0
    """Scheduled failures in a row. A success and RESUME set it to 0."""
    durations: tuple[timedelta, ...] = ()
    """How long its latest refreshes took, from the moment all inputs were ready. Those that found nothing to do say
    nothing about the next change, so the catalog leaves them out."""


@dataclass(frozen=True, slots=True)
class LagGraph:
    """All dynamic tables of the account, in any order."""

    tables: tuple[DynamicTable, ...]
    commits: Mapping[str, datetime] = field(default_factory=dict)
    """When rows of a table last became visible, by its id, as far as anybody told."""


@dataclass(frozen=True, slots=True)
class Member:
    """One table's part in a round."""

    table: str
    name: str
    upstream: tuple[str, ...]
    """The upstream tables that the same round refreshes first. The others already have the data timestamp."""
    completion_target: datetime | None
    """When its lag, or that of a table of the round that reads it, would pass the target; None: nobody's would."""
    expected_duration: timedelta
    working: bool = False
    """Something it is computed from has a commit that it does not show yet."""
    lag: timedelta | None = None
    """What its age is held to; None for a table that is held to nothing."""
    bound: bool = False
    """It reads a table that stands at the data timestamp already: the round can get no other one."""


@dataclass(frozen=True, slots=True)
class Round:
    """Tables of one connected graph to be refreshed at one data timestamp."""

    data_timestamp: datetime
    members: tuple[Member, ...]
    """Upstream tables before those that read them."""

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(member.table for member in self.members)


@dataclass(frozen=True, slots=True)
class Skip:
    """A refresh given up: the table, or one upstream of it, was busy until after the next one was due."""

    table: str
    name: str
    data_timestamp: datetime


@dataclass(frozen=True, slots=True)
class Suspension:
    """A table that failed too often in a row and is to be suspended."""

    table: str
    name: str
    failures: int


@dataclass(frozen=True, slots=True)
class TickPlan:
    """What one tick decides."""

    rounds: tuple[Round, ...] = ()
    skips: tuple[Skip, ...] = ()
    suspensions: tuple[Suspension, ...] = ()
    next_due: datetime | None = None
    """When the next tick can decide something new, if nothing changes before."""
    openings: Mapping[str, datetime] = field(default_factory=dict)
    """For each base table that scheduled tables read: from when on a commit to it makes one of them due at once."""
    waiting_for: frozenset[str] = frozenset()
    """Tables whose running refresh keeps due ones from starting: tick again as soon as one of them ends."""
