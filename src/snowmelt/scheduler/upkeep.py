"""What is to be done for tables and records now: a function of what is known of them, the time and a budget.

Nothing here looks at a clock or a disk; `features.upkeep` gathers the facts and carries the jobs out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

CHECKPOINT_OVERDUE = 300
"""Commits after the newest checkpoint; writers make one every hundred, unless they were killed or could not."""


@dataclass(frozen=True, slots=True)
class Group:
    """Small files of one table that lie next to each other."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TableFacts:
    table_id: str
    name: str
    version: int
    """The visible one."""
    groups: tuple[Group, ...] = ()
    """Worth putting together, each for itself."""
    since_checkpoint: int = 0
    floor: int = 0
    """The oldest version that somebody may need."""
    cleaned: int = -1
    """Before which version nothing is left; -1 when nobody has looked since the process started."""
    vacuumed_at: datetime | None = None
    orphans_at: datetime | None = None
    """When somebody last looked for files that no commit names."""


@dataclass(frozen=True, slots=True)
class AccountFacts:
    purged_at: datetime | None = None
    trimmed_at: datetime | None = None
    leftovers_at: datetime | None = None
    tidied_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    vacuum_every: timedelta = timedelta(minutes=10)
    orphans_every: timedelta = timedelta(hours=24)
    histories_every: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Budget:
    bytes: int
    """How many bytes of data files compaction may read."""
    full: bool = False
    """Nothing of it was used lately: then one job may be larger than it."""
    jobs: int = 100
    """Then look again."""


@dataclass(frozen=True, slots=True)
class Compact:
    table_id: str
    name: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CheckpointJob:
    table_id: str
    name: str
    version: int


@dataclass(frozen=True, slots=True)
class VacuumJob:
    table_id: str
    name: str
    floor: int
    orphans: bool
    """Whether to look for files that no commit names, too."""


@dataclass(frozen=True, slots=True)
class Purge:
    """Remove objects that were dropped longer ago than their retention."""


@dataclass(frozen=True, slots=True)
class TrimHistories:
    """Remove records that are older than the settings allow."""


@dataclass(frozen=True, slots=True)
class RemoveLeftovers:
    """Remove results and drafts that nobody will fetch any more."""


@dataclass(frozen=True, slots=True)
class TidyStore:
    """Give free space in the state store's file back to the disk."""


Job: TypeAlias = Compact | CheckpointJob | VacuumJob | Purge | TrimHistories | RemoveLeftovers | TidyStore


def kind(job: Job) -> str:
    """What the job is called: compact, trim histories."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", type(job).__name__).lower()


def plan(
    tables: Iterable[TableFacts], account: AccountFacts, now: datetime, budget: Budget, rules: UpkeepRules
) -> list[Job]:  # fmt: skip
    """What to do, in this order: what slows readers down first, then what takes space, then records."""
    known = list(tables)
    jobs: list[Job] = [*_compactions(known, budget), *_checkpoints(known), *_vacuums(known, now, rules)]
    return [*jobs[: budget.jobs], *_of_account(account, now, rules)]


def _compactions(tables: Sequence[TableFacts], budget: Budget) -> list[Job]:
    """The most files first. What does not fit the budget waits; it does not keep smaller ones from fitting."""
    found = [Compact(table.table_id, table.name, g.files, g.bytes) for table in tables for g in table.groups]
    chosen: list[Job] = []
    left = budget.bytes
    for job in sorted(found, key=lambda job: (-job.files, job.name)):
        if job.bytes <= left or (budget.full and not chosen):
            chosen.append(job)
            left -= job.bytes
    return chosen


def _checkpoints(tables: Sequence[TableFacts]) -> list[Job]:
    return [
        CheckpointJob(table.table_id, table.name, table.version)
        for table in tables
        if table.since_checkpoint >= CHECKPOINT_OVERDUE
    ]


def _vacuums(tables: Sequence[TableFacts], now: datetime, rules: UpkeepRules) -> list[Job]:
    found = [
        VacuumJob(table.table_id, table.name, table.floor, orphans=_due(table.orphans_at, now, rules.orphans_every))
        for table in sorted(tables, key=lambda table: (table.cleaned - table.floor, table.name))
        if (table.floor > table.cleaned and _due(table.vacuumed_at, now, rules.vacuum_every))
        or _due(table.orphans_at, now, rules.orphans_every)
    ]
    return list(found)


def _of_account(account: AccountFacts, now: datetime, rules: UpkeepRules) -> list[Job]:
    jobs: list[tuple[datetime | None, Job]] = [
        (account.purged_at, Purge()),
        (account.trimmed_at, TrimHistories()),
        (account.leftovers_at, RemoveLeftovers()),
        (account.tidied_at, TidyStore()),
    ]
    return [job for at, job in jobs if _due(at, now, rules.histories_every)]


def _due(last: datetime | None, now: datetime, every: timedelta) -> bool:
    return last is None or now - last >= every
