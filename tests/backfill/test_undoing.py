"""Undoing brings back precisely the rows that were there before, or is refused and says what would be lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from snowmelt.backfill.losses import check_may_begin
from snowmelt.backfill.model import BackfillRequest
from snowmelt.backfill.planning import BackfillPlanner
from snowmelt.backfill.running import Backfill, begin
from snowmelt.backfill.standing import BackfillStanding, BackfillState, backfills_in, standing_of
from snowmelt.core.errors import SnowmeltError
from snowmelt.playbooks.journal import created, opened
from snowmelt.runtime.session import Session
from tests.playbooks.conftest import Command

pytestmark = pytest.mark.timeout(1800)
Rows = Counter[tuple[int, int]]
KEYS = 6
"""The table has keys from 0 to 5; a range is a pair of them."""


@dataclass(slots=True)
class Shop:
    """Backfills of one table, by the classes that the command uses."""

    session: Session
    folder: Path
    said: list[str] = field(default_factory=list)

    @property
    def table(self) -> str:
        return f"{self.session.database}.PUBLIC.FACTS"

    def rows(self, table: str = "facts") -> Rows:
        return Counter((int(a), int(b)) for a, b in self.session.execute(f"SELECT id, amount FROM {table}").rows())

    def standings(self) -> list[BackfillStanding]:
        return [standing_of(events) for events in backfills_in(self.folder)]

    def replace(self, low: int, high: int, amount: int) -> str:
        query = f"SELECT SEQ4() AS id, {amount} AS amount FROM TABLE(GENERATOR(ROWCOUNT => {KEYS}))"
        request = BackfillRequest(self.table, None, query, None, "id", str(low), str(high), chunk="2")
        execute = self.session.execute
        planner = BackfillPlanner(execute, [standing.plan.saved for standing in self.standings()])
        plan, _ = planner.plan(request)
        check_may_begin(execute, plan, self.standings())
        with created(self.folder, plan.run) as journal:
            begin(journal, plan, "here")
            Backfill(execute, journal, self.standings(), self.said.append, lambda: 0.0).go_on()
        return plan.run

    def settle(self, run: str, what: Callable[[Backfill], None]) -> None:
        with opened(self.folder, run) as journal:
            what(Backfill(self.session.execute, journal, self.standings(), self.said.append, lambda: 0.0))

    def undo(self, run: str, *, force: bool = False) -> None:
        self.settle(run, lambda backfill: backfill.undo(force=force))

    def state(self, run: str) -> BackfillState:
        return next(item.state for item in self.standings() if item.plan.run == run)


@pytest.fixture
def shop(session: Session, tmp_path: Path) -> Shop:
    return new_shop(session, tmp_path)


def new_shop(session: Session, folder: Path) -> Shop:
    session.execute("CREATE OR REPLACE TABLE facts (id INT, amount INT)")
    session.execute(f"INSERT INTO facts SELECT SEQ4(), 0 FROM TABLE(GENERATOR(ROWCOUNT => {KEYS}))")
    return Shop(session, folder)


def within(rows: Rows, low: int, high: int) -> Rows:
    return Counter({row: count for row, count in rows.items() if low <= row[0] < high})


def test_the_newest_first_and_never_over_a_newer_one(shop: Shop) -> None:
    original = shop.rows()
    older, newer = shop.replace(0, 4, 1), shop.replace(2, 6, 2)
    there = shop.rows()
    with pytest.raises(SnowmeltError, match=f"backfill {newer} \\(finished\\) replaced rows of the same range"):
        shop.undo(older)
    assert shop.rows() == there and shop.state(older) is BackfillState.FINISHED
    shop.undo(newer)
    shop.undo(older)
    assert shop.rows() == original
    assert shop.session.execute("SHOW TABLES LIKE 'FACTS_%'").rows() == []


def test_later_writes_are_named_and_force_keeps_them_in_a_clone(shop: Shop) -> None:
    original = shop.rows()
    run = shop.replace(0, 4, 1)
    assert any("2 rows deleted, 2 inserted" in told for told in shop.said)
    shop.session.execute("INSERT INTO facts VALUES (9, 9)")
    written = shop.session.execute("UPDATE facts SET amount = 7 WHERE id = 3").query_id
    there = shop.rows()
    with pytest.raises(SnowmeltError) as refused:
        shop.undo(run)
    told = str(refused.value)
    assert "chunk 2 of 2" in told and "chunk 1 of 2" not in told
    assert re.search(rf"UPDATE at \d{{4}}-.* UTC \(query {written}\)", told), told
    assert shop.rows() == there
    shop.undo(run, force=True)
    assert shop.rows() == original + Counter({(9, 9): 1})
    (lost,) = (row[1] for row in shop.session.execute("SHOW TABLES LIKE 'FACTS_LOST%'").rows())
    assert shop.rows(str(lost)) == there


def test_what_was_there_right_before_a_chunk_comes_back(shop: Shop) -> None:
    """Also what others wrote between the clone of the old version and the chunk."""
    shop.session.execute("CREATE OR REPLACE TABLE source AS SELECT id, 5 AS amount FROM facts")
    plan, _ = BackfillPlanner(shop.session.execute, []).plan(
        BackfillRequest(shop.table, f"{shop.session.database}.PUBLIC.SOURCE", None, None, "id", "0", "4", chunk="2")
    )

    def execute(statement: str) -> Any:
        result = shop.session.execute(statement)
        if "CLONE" in statement:
            shop.session.execute("UPDATE facts SET amount = 8 WHERE id = 2")
        return result

    with created(shop.folder, plan.run) as journal:
        begin(journal, plan, "here")
        Backfill(execute, journal, [], shop.said.append, lambda: 0.0).go_on()
    shop.undo(plan.run)
    assert shop.rows() == Counter({(key, 8 if key == 2 else 0): 1 for key in range(KEYS)})


def test_refused_by_the_command(snowmelt: Command, session: Session) -> None:
    session.execute("CREATE TABLE facts AS SELECT 1 AS id, 1 AS amount")
    session.execute("CREATE TABLE source AS SELECT 1 AS id, 2 AS amount")
    home = f"{session.database}.PUBLIC"
    done = snowmelt(
        "backfill", f"{home}.FACTS", "--from", f"{home}.SOURCE", "--column", "id", "--start", "0", "--end", "5"
    )
    found = re.search(r"^backfill (\S+)", done.stdout, re.MULTILINE)
    assert found is not None, done.output
    session.execute("INSERT INTO facts VALUES (3, 3)")
    refused = snowmelt("backfill", "--undo", found[1])
    assert refused.exit_code == 1 and "INSERT at" in refused.stderr and "--force" in refused.stderr
    forced = snowmelt("backfill", "--undo", found[1], "--force")
    assert forced.exit_code == 0 and "lost: " in forced.stdout, forced.output
    assert session.execute("SELECT id, amount FROM facts").rows() == [(1, 1)]


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["backfill", "backfill", "write", "undo", "undo"]), st.integers(0, 4), st.integers(1, 3)),
    min_size=3,
    max_size=8,
)


def play(shop: Shop, steps: list[Step]) -> None:
    """Every undo restores its range, and touches nothing else; or it is refused, and touches nothing at all."""
    before: dict[str, tuple[int, int, Rows]] = {}
    original, wrote = shop.rows(), False
    for number, (what, place, length) in enumerate(steps, start=1):
        low, high, there = place, min(place + length, KEYS), shop.rows()
        if what == "backfill":
            before[shop.replace(low, high, number)] = (low, high, there)
        elif what == "write":
            shop.session.execute(f"UPDATE facts SET amount = {-number} WHERE id >= {low} AND id < {high}")
            wrote = True
        elif before:
            _undo(shop, list(before)[place % len(before)], before)
    # From the newest to the oldest: either all of the originals are there again, or others wrote.
    for run in reversed(list(before)):
        _undo(shop, run, before, must=not wrote)
    assert wrote or shop.rows() == original


def _undo(shop: Shop, run: str, before: dict[str, tuple[int, int, Rows]], *, must: bool = False) -> None:
    low, high, then = before[run]
    there = shop.rows()
    try:
        shop.undo(run)
    except SnowmeltError:
        assert not must and shop.rows() == there and shop.state(run) is BackfillState.FINISHED
        return
    now = shop.rows()
    assert within(now, low, high) == within(then, low, high)
    assert now - within(now, low, high) == there - within(there, low, high)
    del before[run]


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@example([("backfill", 0, 3), ("backfill", 1, 3), ("undo", 0, 1), ("undo", 1, 1)])
@example([("backfill", 0, 3), ("write", 1, 1), ("backfill", 0, 2), ("undo", 1, 1), ("undo", 0, 1)])
@given(STEPS)
def test_random_sequences(session: Session, tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    play(new_shop(session, tmp_path_factory.mktemp("runs")), steps)


def test_a_sequence(shop: Shop) -> None:
    play(shop, [("backfill", 0, 2), ("backfill", 1, 2), ("undo", 0, 1), ("write", 2, 1), ("undo", 1, 1)])
