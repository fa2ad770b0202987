"""kill -9 inside the gate: no bad row is ever seen, and no row is in two places or in none."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.conftest import SPARK
from tests.crash.inspection import check_at_rest
from tests.crash.test_refresh_kill import killed

Rows = list[tuple[int, int]]
INSERT = "INSERT INTO t VALUES (10, 1), (11, -1), (12, 2), (13, -2)"
UPDATE = "UPDATE t SET v = -v WHERE id IN (2, 3)"
REPLAY = "ALTER TABLE t REPLAY QUARANTINE"
REFUSED = "INSERT INTO t VALUES (20, 1000), (21, -1)"
"""Fails a check that lets nothing through, and another one that would quarantine a row."""
BEFORE: tuple[Rows, Rows] = ([(1, 1), (2, 2), (3, 3)], [(4, -4), (5, 5)])
"""The table's rows, and those in quarantine, of which one was repaired."""
AFTER: dict[str, tuple[Rows, Rows]] = {
    INSERT: ([*BEFORE[0], (10, 1), (12, 2)], [*BEFORE[1], (11, -1), (13, -2)]),
    UPDATE: ([(1, 1)], [(2, -2), (3, -3), *BEFORE[1]]),
    REPLAY: ([*BEFORE[0], (5, 5)], [(4, -4)]),
    REFUSED: BEFORE,
}
WRITES = (
    "before-commit:1", "after-commit:1", "before-restore:1", "after-restore:1", "quality-taken-out:1",
    "after-commit:2", "quality-quarantined:1", "quality-passed:1", "before-flip:1", "inside-flip:1", "after-flip:1",
)  # fmt: skip
CHANGES = ("after-commit:1", "quality-taken-out:1", "quality-quarantined:1", "inside-flip:1", "after-flip:1")
REPLAYS = ("after-commit:2", "quality-taken-out:1", "quality-quarantined:1", "before-flip:1", "after-flip:1")
DEATHS = [
    *((INSERT, place) for place in WRITES),
    *((UPDATE, place) for place in CHANGES),
    *((REPLAY, place) for place in REPLAYS),
    (REFUSED, "quality-refused:1"),
]


@pytest.fixture(scope="module")
def data(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The account of the other tests keeps Spark up between the lives.
    account.engine.session()
    folder = tmp_path_factory.mktemp("gate") / "data"
    with open_account(folder, settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        session.execute("CREATE TABLE t (id INT, v INT)")
        session.execute("ALTER TABLE t ADD QUALITY CHECK positive AS RANGE (v) MIN = 0 ON_FAILURE = QUARANTINE")
        session.execute("ALTER TABLE t ADD QUALITY CHECK sane AS RANGE (v) MAX = 100")
    return folder


def begin(session: Session) -> None:
    """The same rows before each death."""
    session.execute("TRUNCATE TABLE t")
    session.execute("TRUNCATE TABLE t_quarantine")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, -4), (5, -5)")
    session.execute("UPDATE t_quarantine SET v = 5 WHERE id = 5")


def found(session: Session) -> tuple[Rows, Rows]:
    passed, kept = (
        [(int(row[0]), int(row[1])) for row in session.execute(f"SELECT id, v FROM {table} ORDER BY id").rows()]
        for table in ("t", "t_quarantine")
    )
    return passed, kept


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "place"), DEATHS)
def test_a_gate_that_is_killed_lets_nothing_bad_through_and_loses_nothing(
    data: Path, statement: str, place: str
) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        begin(opened.session())
    assert killed(data, place, statement) == -9, "it did not come there"
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        check_at_rest(opened)
        session = opened.session()
        passed, kept = found(session)
        assert all(value >= 0 for _, value in passed), "a bad row is visible"
        flipped = place.startswith("after-flip")
        assert (passed, sorted(kept)) == (AFTER[statement] if flipped else BEFORE)
        # What died can be done again, and ends as if it had never died.
        if statement != REFUSED and not flipped:
            session.execute(statement)
            passed, kept = found(session)
            assert (passed, sorted(kept)) == AFTER[statement]
