"""kill -9 of a server in the middle of its tasks' transactions, under writers: each change is applied exactly once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from snowmelt.serve.client import RemoteSession
from tests.crash.serving import Server, await_that, rows, served, writing
from tests.crash.test_processes import small_spark

SETUP = (
    "CREATE TABLE landing (id INT, n INT)",
    "CREATE TABLE target (id INT, n INT)",
    "CREATE TABLE applied (action VARCHAR, is_update BOOLEAN, row_id VARCHAR, id INT, n INT)",
    "CREATE TABLE added (id INT)",
    "CREATE TABLE mirror (id INT, n INT)",
    "CREATE STREAM changed ON TABLE landing",
    "CREATE STREAM inserted ON TABLE landing APPEND_ONLY = TRUE",
    "CREATE STREAM target_changed ON TABLE target",
)
MERGE = """
    MERGE INTO {into} t
    USING (SELECT * FROM {stream} WHERE NOT (METADATA$ACTION = 'DELETE' AND METADATA$ISUPDATE)) c ON t.id = c.id
    WHEN MATCHED AND c.METADATA$ACTION = 'DELETE' THEN DELETE
    WHEN MATCHED THEN UPDATE SET t.n = c.n
    WHEN NOT MATCHED THEN INSERT VALUES (c.id, c.n)
"""
TASKS = (
    # Two statements that consume the same changes, in one transaction.
    "CREATE TASK apply_changes SCHEDULE = '10 SECONDS' TASK_AUTO_RETRY_ATTEMPTS = 1"
    " WHEN SYSTEM$STREAM_HAS_DATA('changed') OR SYSTEM$STREAM_HAS_DATA('inserted')"
    f" AS BEGIN BEGIN TRANSACTION; {MERGE.format(into='target', stream='changed')};"
    " INSERT INTO applied SELECT METADATA$ACTION, METADATA$ISUPDATE, METADATA$ROW_ID, id, n FROM changed; COMMIT; END",
    "CREATE TASK list_added AFTER apply_changes AS INSERT INTO added SELECT id FROM inserted",
    "CREATE TASK mirror_target USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 10"
    " WHEN SYSTEM$STREAM_HAS_DATA('target_changed')"
    f" AS {MERGE.format(into='mirror', stream='target_changed')}",
    "ALTER TASK list_added RESUME",
    "ALTER TASK apply_changes RESUME",
    "ALTER TASK mirror_target RESUME",
)
STEPS_OF_WRITES = ("data-file-written", "log-entry-linked", "before-commit", "after-commit", "before-flip",
                   "inside-flip", "after-flip")  # fmt: skip
STEPS_OF_TASKS = ("task-decided", "task-began", "task-executed")
WRITERS = 2


class Changes:
    """Transactions of one writer. No row ever holds the same twice, so that nothing cancels out by chance."""

    def __init__(self, life: int, writer: int) -> None:
        self._first = (life * WRITERS + writer) * 100_000
        self._numbers = count(self._first)
        self.sent: list[int] = []

    def __call__(self, chance: random.Random) -> Sequence[str]:
        match chance.randrange(6):
            case 0 if self.sent:
                return (f"DELETE FROM landing WHERE id = {chance.choice(self.sent)}",)
            case 1 if self.sent:
                update = f"UPDATE landing SET n = {next(self._numbers)} WHERE id = {chance.choice(self.sent)}"
                return ("BEGIN", self._insertion(), update, "COMMIT")
            case 2:
                return (f"UPDATE landing SET n = {next(self._numbers)} WHERE id % 9 = {chance.randrange(9)}",)
            case _:
                return (self._insertion(),)

    def _insertion(self) -> str:
        number = next(self._numbers)
        self.sent.append(number)
        return f"INSERT INTO landing VALUES ({number}, {number})"


def asks(_: random.Random) -> Sequence[str]:
    """Runs beside those of the schedule, so that a task is under way most of the time."""
    return ("EXECUTE TASK apply_changes", "CALL SYSTEM$WAIT(1)")


def deaths(chance: random.Random) -> Iterator[str | None]:
    """How each life ends: at a step, or at any time."""
    while True:
        yield f"{chance.choice(STEPS_OF_TASKS)}:{chance.randint(5, 12)}"
        yield None
        yield f"{chance.choice(STEPS_OF_WRITES)}:{chance.randint(20, 80)}"


@pytest.mark.slow
@pytest.mark.parametrize("lives", [2, 15])
@pytest.mark.timeout(3600)
def test_each_change_is_applied_exactly_once(tmp_path: Path, lives: int) -> None:
    data, config = tmp_path / "data", small_spark(tmp_path / "snowmelt.toml")
    chance = random.Random(lives)
    sent: set[int] = set()
    for life, kill_at in zip(range(lives), deaths(chance), strict=False):
        with served(data, config, kill_at) as server:
            if life == 0:
                for statement in (*SETUP, *TASKS):
                    server.session.execute(statement)
            changes = [Changes(life, writer) for writer in range(WRITERS)]
            with writing(server, [*changes, asks], life) as load:
                if kill_at is not None:
                    server.await_death()
                else:
                    await_more_applied(server)
                    load.await_more(chance.randint(1, 30))
                    server.kill()
        sent.update(number for writer in changes for number in writer.sent)
    with served(data, config) as server:
        # By itself: nobody asks for runs any more.
        await_that(lambda: is_consumed(server.session), "all streams are empty")
        check(server.session, sent)
        server.stop()


def await_more_applied(server: Server) -> None:
    def number() -> int:
        return int(rows(server.session, "SELECT COUNT(*) FROM added")[0][0])

    before = number()
    await_that(lambda: number() > before, "tasks consume")


def is_consumed(session: RemoteSession) -> bool:
    streams = ("changed", "inserted", "target_changed")
    left = [rows(session, f"SELECT SYSTEM$STREAM_HAS_DATA('{name}')")[0][0] for name in streams]
    return not any(left)


def check(session: RemoteSession, sent: set[int]) -> None:
    landed = rows(session, "SELECT id, n FROM landing")
    assert rows(session, "SELECT id, n FROM target") == landed
    assert rows(session, "SELECT id, n FROM mirror") == landed
    assert_once(session, landed)
    added = [id for (id,) in rows(session, "SELECT id FROM added")]
    assert len(added) == len(set(added)) and set(added) <= sent and {id for id, _ in landed} <= set(added)
    failures = rows(
        session,
        "SELECT DISTINCT error_code FROM TABLE(INFORMATION_SCHEMA.TASK_HISTORY(RESULT_LIMIT => 10000))"
        " WHERE state LIKE 'FAILED%'",
    )
    # Nothing fails but what was under way when the server was killed.
    assert {str(code) for (code,) in failures} <= {"605", "000605"}, failures


def assert_once(session: RemoteSession, landed: list[tuple[int, int]]) -> None:
    """Nothing came twice, nothing went twice, and what came and did not go is there."""
    applied = rows(session, "SELECT action, is_update, row_id, id, n FROM applied")
    came = Counter((id, n) for action, _, _, id, n in applied if action == "INSERT")
    went = Counter((id, n) for action, _, _, id, n in applied if action == "DELETE")
    assert max(came.values()) == 1 and max(went.values(), default=1) == 1
    assert went.keys() <= came.keys()
    assert sorted(came.keys() - went.keys()) == sorted(landed)
    halves = Counter((action, row) for action, is_update, row, _, _ in applied if is_update)
    for (action, row), number in halves.items():
        assert halves[("DELETE" if action == "INSERT" else "INSERT", row)] == number, row
