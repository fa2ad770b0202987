"""A table that takes a commit a second, for a day and two hours of a simulated clock, with upkeep at its usual pace.

Every commit is made: 93,600 single-row inserts, some 7 ms of processor time each. Nothing here goes by how long
something takes: what is counted is what a statement, a reader and upkeep read, write and keep.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from snowmelt.core.clock import ManualClock
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.scheduler.upkeep import CHECKPOINT_OVERDUE, Compact
from snowmelt.storage.durable import SIDE_BY_SIDE
from tests.runtime.transactions.seeing import find, location, their_table
from tests.support.table_files import files_on_disk, live_files, rows_in_order

SECOND = timedelta(seconds=1)
HOUR = 3600
LOOK = 5
"""Seconds between two looks of upkeep, as the settings have it."""
VACUUM = GRACE = 600
CHECKPOINT = 100


@dataclass
class Work:
    """System calls and bytes, of the whole process."""

    reads: int = 0
    read: int = 0
    written: int = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        before = _work_so_far()
        yield
        after = _work_so_far()
        self.reads += after["syscr"] - before["syscr"]
        self.read += after["rchar"] - before["rchar"]
        self.written += after["wchar"] - before["wchar"]


def _work_so_far() -> dict[str, int]:
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


@dataclass
class Hour:
    inserts: Work = field(default_factory=Work)
    upkeep: Work = field(default_factory=Work)
    open: Work = field(default_factory=Work)
    """Of another tool that opens the table for the first time."""
    most_files: int = 0
    """Of a version."""
    most_tail: int = 0
    """Log entries after the newest checkpoint."""
    entries: int = 0
    on_disk: int = 0
    bytes: int = 0
    versions: int = 0
    threads: int = 0
    put_together: int = 0
    """Bytes that were read to put files together."""


def opened_by_another(uri: str) -> Work:
    """What it takes to open the table for who knows nothing of it; or more, when a checkpoint is made beside it."""
    work = Work()
    with work.counted():
        DeltaTable(uri)
    return work


def an_hour(account: Account, session: Session, clock: ManualClock, first: int) -> Hour:
    hour = Hour()
    where = location(account, "T")
    for number in range(first, first + HOUR, LOOK):
        with hour.inserts.counted():
            for each in range(number, number + LOOK):
                session.execute(f"INSERT INTO t VALUES ({each})")
                clock.advance(SECOND)
        hour.most_files = max(hour.most_files, len(live_files(account, "T")))
        tail = account.store.care.since_checkpoint(where, account.store.latest_version(where))
        hour.most_tail = max(hour.most_tail, tail)
        with hour.upkeep.counted():
            done = account.services[Upkeep].run()
        assert {item.outcome for item in done} <= {"DONE"}, done
        hour.put_together += sum(item.bytes for item in done if isinstance(item.job, Compact))
    hour.open = min(
        (opened_by_another(account.store.root.uri_of(where)) for _ in range(3)), key=lambda work: work.reads
    )
    hour.entries = account.store.care.log_entries(where)
    hour.on_disk = files_on_disk(account, "T")
    hour.bytes = sum(entry.stat().st_size for entry in os.scandir(account.store.root.path(where)) if entry.is_file())
    with account.state.read() as state:
        hour.versions = len(state.versions.history(find(account, "T").id))
    names = [thread.name for thread in threading.enumerate()]
    hour.threads = sum(not name.startswith("snowmelt-flush") for name in names)
    # A pool that starts its threads as they are needed, up to a fixed number.
    assert len(names) - hour.threads <= SIDE_BY_SIDE
    return hour


def check_speed(hours: list[Hour], retention: int) -> None:
    """The last hour's work is that of the second: in the first, everything is still small.

    Up to half as much again: the state store's trees get a level deeper, and their inner pages are read each time.
    Upkeep has more to do as soon as retention is over: from then on as many versions leave as come, and a vacuum reads
    the log entry of each. That hour is what its last one is held to, and it is no more than twice an early one.
    """
    early, late = hours[1], hours[-1]
    pairs = {"inserts": (early.inserts, late.inserts), "upkeep": (hours[max(1, retention)].upkeep, late.upkeep)}
    for name, (before, after) in pairs.items():
        assert after.reads <= 1.5 * before.reads, f"{name}: {before} became {after}"
        assert after.read <= 1.5 * before.read, f"{name}: {before} became {after}"
        assert after.written <= 1.5 * before.written, f"{name}: {before} became {after}"
    first, full = hours[1].upkeep, hours[max(1, retention)].upkeep
    assert full.read <= 2 * first.read, f"upkeep when versions leave: {first} became {full}"
    # 32 single rows, and eight of each generation of files after them; what came since the last look.
    assert max(hour.most_files for hour in hours) <= 32 + 8 * 4 + LOOK
    # A checkpoint is made every hundred commits, beside them; upkeep makes it when it finds it overdue at a look, and
    # what came since the last look comes on top.
    assert max(hour.most_tail for hour in hours) <= CHECKPOINT_OVERDUE + LOOK
    assert max(hour.open.reads for hour in hours[1:]) <= 4 * CHECKPOINT_OVERDUE
    assert late.threads <= early.threads


@pytest.mark.slow
@pytest.mark.timeout(4 * HOUR)
@pytest.mark.parametrize(("days", "hours"), [(0, 3), (1, 26)])
def test_a_commit_a_second(account: Account, session: Session, clock: ManualClock, days: int, hours: int) -> None:
    session.execute(f"CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = {days}")
    seen: list[Hour] = []
    for number in range(hours):
        seen.append(an_hour(account, session, clock, number * HOUR))
        print(number, seen[-1])
    check_speed(seen, days * 24)

    # What Time Travel asks for, and what comes between two vacuums and before a checkpoint; a commit in 32 is upkeep's.
    kept = max(days * 24 * HOUR, GRACE) + VACUUM + CHECKPOINT + LOOK
    most = round(kept * (1 + 1 / 16))
    assert seen[-1].versions <= most
    assert seen[-1].entries <= most
    assert seen[-1].on_disk <= most + seen[-1].most_files
    # The budget, which is far from used up: each row is written a few times in its life.
    assert max(hour.put_together for hour in seen) <= account.settings.upkeep.bytes_per_hour / 100

    everything = list(range(hours * HOUR))
    assert rows_in_order(account, "T") == everything
    account.store.forget(location(account, "T"))
    assert rows_in_order(account, "T") == everything, "for who reads the log from its checkpoint"
    theirs = their_table(account, "T").to_pyarrow_table().column("A").to_pylist()
    assert sorted(map(int, theirs)) == everything
