"""kill -9 of a backfill at every place: resumed it gives the table of an uninterrupted one, undone the old one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snowmelt.playbooks.journal import run_ids
from snowmelt.runtime.session import Session
from tests.crash.driver import Zygote
from tests.playbooks.lives import Commands, zygote

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
KINDS = ("journal after", "backfill chunk", "backfill chunk done", "backfill restored")


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    started = zygote()
    yield started
    started.close()


def contents(session: Session) -> list[tuple[Any, ...]]:
    return session.execute("SELECT id, amount FROM facts ORDER BY id, amount").rows()


def fill(session: Session, turn: int) -> None:
    """Each turn anew, with a source that has other rows than the target; also some that the target has twice."""
    for statement in (
        "CREATE OR REPLACE TABLE facts (id INT, amount INT)",
        "INSERT INTO facts SELECT SEQ4(), 1 FROM TABLE(GENERATOR(ROWCOUNT => 20))",
        "INSERT INTO facts VALUES (5, 1), (11, 1), (NULL, 1)",
        f"CREATE OR REPLACE TABLE source AS SELECT id, {turn + 100} AS amount FROM facts WHERE id BETWEEN 4 AND 16",
        "DELETE FROM source WHERE id = 7",
        "INSERT INTO source VALUES (9, 77)",
    ):
        session.execute(statement)


def expected(session: Session) -> list[tuple[Any, ...]]:
    return session.execute(
        "SELECT id, amount FROM (SELECT * FROM facts WHERE NOT COALESCE(id >= 5 AND id < 15, FALSE) UNION ALL "
        "SELECT * FROM source WHERE id >= 5 AND id < 15) ORDER BY id, amount"
    ).rows()


@pytest.mark.parametrize("then", ["resume", "undo"])
def test_killed_anywhere(children: Zygote, url: str, session: Session, tmp_path: Path, then: str) -> None:
    home = f"{session.database}.PUBLIC"
    arguments = (
        "backfill", f"{home}.FACTS", "--from", f"{home}.SOURCE", "--column", "id", "--start", "5", "--end", "15",
        "--chunk", "4",
    )  # fmt: skip
    alive: set[str] = set()
    deaths = 0
    for turn, nth in enumerate(itertools.count(1)):
        for kind in KINDS:
            if kind in alive:
                continue
            fill(session, turn)
            before, after = contents(session), expected(session)
            commands = Commands(children, url, tmp_path / f"{kind}-{nth}")
            first = commands.run(*arguments, kill_at=f"{kind}:{nth}")
            deaths += first.killed
            ids = run_ids(commands.runs)
            if not first.killed:
                alive.add(kind)
            if not ids:
                continue
            # What others do between the two lives is no part of the range, or not seen by it.
            session.execute("INSERT INTO facts VALUES (1000, 1)")
            session.execute("UPDATE source SET amount = 0")
            option = f"--{then}"
            while commands.run("backfill", option, ids[0], kill_at=f"{kind}:{nth}").killed:
                deaths += 1
                nth_life = commands.run("backfill", option, ids[0])
                assert nth_life.code == 0, nth_life.output
            assert commands.run("backfill", option, ids[0]).code == 0
            wanted = after if then == "resume" else before
            assert contents(session) == sorted([*wanted, (1000, 1)], key=_nulls_last), (kind, nth)
            names = {row[1] for row in session.execute("SHOW TABLES").rows()}
            assert not [name for name in names if name.startswith("SNOWMELT_CLAIMS")], (kind, nth)
        if alive == set(KINDS):
            break
    assert deaths > 8


def _nulls_last(row: tuple[Any, ...]) -> tuple[bool, Any, Any]:
    return row[0] is None, row[0], row[1]
