"""A table that takes a commit a second: with upkeep, without, and with what a user would run by cron.

The clock of both accounts is simulated: a second passes with every commit, and upkeep looks every five, as in a server.
By hand is a plain Delta table that delta-rs writes, with `optimize`, `vacuum`, a checkpoint and log clean-up every 600
commits, which is every ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from benchmarks.measuring import Aim, Measure, Outcome, Samples, timed
from benchmarks.workbench import Workbench
from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings
from snowmelt.core.names import ObjectName
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.state.model import ObjectKind, TableDefinition

_COMMITS = 3600
_LOOK, _CRON = 5, 600
_READS = 7
_SIDES = ("upkeep", "none", "by hand")


@dataclass
class Side:
    insert: Callable[[int], object]
    care: Callable[[int], object]
    """After each commit."""
    folder: Path
    inserts: list[float] = field(default_factory=list)
    cared: list[float] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)
    difference: str | None = None

    @property
    def late(self) -> Samples:
        """Of the last tenth of the commits."""
        return Samples(tuple(self.inserts[-max(len(self.inserts) // 10, 1) :]))


def run(bench: Workbench) -> Outcome:
    commits = bench.rows(_COMMITS)
    sides = {
        "upkeep": _account(bench, "upkeep", upkeep=True),
        "none": _account(bench, "no-upkeep", upkeep=False),
        "by hand": _by_hand(bench.folder("by-hand") / "t"),
    }
    for number in range(commits):
        if number % 100 == 0:
            bench.step(f"commit {number} of {commits}")
        for name in _in_turns(number):
            side = sides[name]
            side.inserts.append(timed(side.insert, number)[1])
            side.cared.append(timed(side.care, number)[1])
    for number in range(_READS):
        bench.step(f"reading {number + 1} of {_READS}")
        for name in _in_turns(number):
            rows, elapsed = timed(lambda _, side=sides[name]: _read(side.folder), number)
            sides[name].reads.append(elapsed)
            if rows != list(range(commits)):
                sides[name].difference = f"{name}: {len(rows)} rows, not {commits}"
    return _outcome(sides, commits)


def _in_turns(number: int) -> list[str]:
    first = number % len(_SIDES)
    return [*_SIDES[first:], *_SIDES[:first]]


def _outcome(sides: dict[str, Side], commits: int) -> Outcome:
    ours = sides["upkeep"]
    measures = []
    for name in ("none", "by hand"):
        other = sides[name]
        measures.append(Measure(f"INSERT, the last tenth, beside {name}", ours.late, other.late, other.difference))
        reads = Samples(tuple(ours.reads)), Samples(tuple(other.reads))
        measures.append(Measure(f"open and read all, beside {name}", *reads, ours.difference))
    facts: dict[str, str | int | float] = {"commits": commits}
    for name, side in sides.items():
        table = DeltaTable(str(side.folder))
        facts |= {
            f"{name}: files of the table": len(table.file_uris()),
            f"{name}: files on disk": len(list(side.folder.glob("*.parquet"))),
            f"{name}: log entries": len(list((side.folder / "_delta_log").glob("*.json"))),
            f"{name}: care, ms a commit": round(sum(side.cared) / commits, 2),
            f"{name}: longest care, ms": round(max(side.cared), 1),
        }
    early = Samples(tuple(ours.inserts[: max(commits // 10, 1)])).median
    aim = Aim("the last tenth of the inserts takes at most 1.2 times the first",
              f"{ours.late.median / early:.2f} times", ours.late.median <= 1.2 * early)  # fmt: skip
    return Outcome(tuple(measures), (aim,), facts)


# -- the sides --------------------------------------------------------------------------------------------------------


def _account(bench: Workbench, name: str, *, upkeep: bool) -> Side:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    account = open_account(bench.folder(name), settings=Settings(), clock=clock)
    bench.at_close(account.close)
    session = account.session()
    session.execute("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    with account.state.read() as state:
        table = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", "T"), [ObjectKind.TABLE])
    assert table is not None and isinstance(table.definition, TableDefinition)

    def care(number: int) -> None:
        clock.advance(timedelta(seconds=1))
        if upkeep and number % _LOOK == _LOOK - 1:
            account.services[Upkeep].run()

    return Side(
        lambda number: session.execute(f"INSERT INTO t VALUES ({number})"),
        care,
        account.store.root.path(table.definition.location),
    )


def _by_hand(folder: Path) -> Side:
    write_deltalake(folder, _rows([]), configuration={"delta.logRetentionDuration": "interval 0 days"})

    def care(number: int) -> None:
        if number % _CRON == _CRON - 1:
            DeltaTable(folder).optimize.compact()
            table = DeltaTable(folder)
            table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
            table.create_checkpoint()
            table.cleanup_metadata()

    return Side(lambda number: write_deltalake(folder, _rows([number]), mode="append"), care, folder)


def _rows(values: list[int]) -> pa.Table:
    return pa.table({"A": pa.array(values, pa.int64())})


def _read(folder: Path) -> list[int]:
    return sorted(int(value) for value in DeltaTable(str(folder)).to_pyarrow_table().column("A").to_pylist())
