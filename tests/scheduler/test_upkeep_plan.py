"""What upkeep plans: a function of facts, time and budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from snowmelt.scheduler.upkeep import (
    CHECKPOINT_OVERDUE,
    AccountFacts,
    Budget,
    CheckpointJob,
    Compact,
    Group,
    Job,
    Purge,
    RemoveLeftovers,
    TableFacts,
    TidyStore,
    TrimHistories,
    UpkeepRules,
    VacuumJob,
    plan,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULES = UpkeepRules()
DONE = AccountFacts(NOW, NOW, NOW, NOW)

instants = st.one_of(st.none(), st.integers(0, 100_000).map(lambda seconds: NOW - timedelta(seconds=seconds)))
groups = st.builds(Group, st.integers(2, 500), st.integers(0, 10_000))
tables = st.lists(
    st.builds(
        TableFacts,
        table_id=st.uuids().map(str), name=st.text("ABC", min_size=1, max_size=3), version=st.integers(0, 1000),
        groups=st.lists(groups, max_size=3).map(tuple), since_checkpoint=st.integers(0, 1000),
        floor=st.integers(0, 100), cleaned=st.integers(-1, 100), vacuumed_at=instants, orphans_at=instants,
    ),
    max_size=6,
)  # fmt: skip


def quiet(**values: object) -> TableFacts:
    """A table for which there is nothing to do, but for what is given."""
    known = TableFacts("t", "T", version=5, floor=3, cleaned=3, vacuumed_at=NOW, orphans_at=NOW)
    return replace(known, **values)  # type: ignore[arg-type]


def planned(*facts: TableFacts, budget: int = 1000, full: bool = False) -> list[Job]:
    return plan(facts, DONE, NOW, Budget(budget, full=full), RULES)


def test_nothing_to_do() -> None:
    assert planned(quiet()) == []
    assert planned() == []


def test_the_most_files_first_within_the_budget() -> None:
    few, many, large = Group(40, 100), Group(90, 500), Group(60, 5000)
    jobs = planned(quiet(groups=(few,)), quiet(table_id="u", name="U", groups=(many, large)))
    assert jobs == [Compact("u", "U", 90, 500), Compact("t", "T", 40, 100)]
    # With an hour's budget untouched, one job that is larger than all of it goes through; nothing starves.
    assert planned(quiet(groups=(large,))) == []
    assert planned(quiet(groups=(large,)), full=True) == [Compact("t", "T", 60, 5000)]


def test_a_checkpoint_that_nobody_made() -> None:
    assert planned(quiet(since_checkpoint=CHECKPOINT_OVERDUE - 1)) == []
    assert planned(quiet(since_checkpoint=CHECKPOINT_OVERDUE)) == [CheckpointJob("t", "T", 5)]


def test_a_table_is_vacuumed_now_and_then() -> None:
    long_ago, just_now = NOW - RULES.vacuum_every, NOW - RULES.vacuum_every / 2
    assert planned(quiet(floor=4, vacuumed_at=just_now)) == []
    assert planned(quiet(floor=4, vacuumed_at=long_ago)) == [VacuumJob("t", "T", 4, orphans=False)]
    assert planned(quiet(vacuumed_at=long_ago)) == []
    assert planned(quiet(orphans_at=NOW - RULES.orphans_every)) == [VacuumJob("t", "T", 3, orphans=True)]
    assert planned(quiet(cleaned=-1, vacuumed_at=None)) == [VacuumJob("t", "T", 3, orphans=False)]


def test_records_every_hour() -> None:
    known = AccountFacts(purged_at=NOW - RULES.histories_every, trimmed_at=NOW, leftovers_at=None, tidied_at=NOW)
    assert plan([], known, NOW, Budget(0), RULES) == [Purge(), RemoveLeftovers()]
    assert plan([], AccountFacts(), NOW, Budget(0), RULES) == [Purge(), TrimHistories(), RemoveLeftovers(), TidyStore()]


@given(tables, st.integers(0, 20_000), st.booleans())
def test_every_job_has_a_reason_and_the_budget_holds(facts: list[TableFacts], size: int, full: bool) -> None:
    jobs = plan(facts, DONE, NOW, Budget(size, full=full), RULES)
    known = {table.table_id: table for table in facts}
    compactions = [job for job in jobs if isinstance(job, Compact)]
    rest = compactions[1:] if full and compactions and compactions[0].bytes > size else compactions
    assert sum(job.bytes for job in rest) <= size
    for job in jobs:
        match job:
            case Compact():
                assert Group(job.files, job.bytes) in known[job.table_id].groups
            case CheckpointJob():
                assert known[job.table_id].since_checkpoint >= CHECKPOINT_OVERDUE
            case VacuumJob():
                table = known[job.table_id]
                assert job.floor == table.floor
                assert job.orphans or table.floor > table.cleaned
            case _:
                raise AssertionError(job)
    assert jobs == plan(list(facts), DONE, NOW, Budget(size, full=full), RULES)


@given(tables, st.integers(0, 10))
def test_a_round_is_bounded(facts: list[TableFacts], most: int) -> None:
    assert len(plan(facts, DONE, NOW, Budget(10**9, jobs=most), RULES)) <= most
