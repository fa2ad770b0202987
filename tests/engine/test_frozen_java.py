"""SIGSTOP of Spark's Java process: it lives, keeps its connections and never answers. Nobody waits for it for ever."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine import jvm
from snowmelt.serve.client import RemoteSession
from tests.conftest import SPARK
from tests.crash.serving import Server, served
from tests.support.java import java_of
from tests.support.waiting import DEADLINE, wait_until

SILENCE = 6
"""Seconds. A busy machine that answers later than that only costs another process."""
ROWS = 400
TOTAL = ROWS * (ROWS - 1) // 2
LONG = "SELECT COUNT(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n < 0"


def config(folder: Path) -> Path:
    found = folder / "snowmelt.toml"
    lines = [f'"{key}" = "{value}"' for key, value in SPARK.items()]
    found.write_text(
        "\n".join([f"silence_seconds = {SILENCE}", "stop_seconds = 10", "[quick]", 'mode = "off"', "[spark]", *lines]),
        "utf-8",
    )
    return found


@contextmanager
def a_server(folder: Path) -> Iterator[Server]:
    with served(folder / "data", config(folder)) as running:
        make = running.session.execute
        make("CREATE TABLE numbers (n INT)")
        make(f"INSERT INTO numbers SELECT SEQ4() FROM TABLE(GENERATOR(ROWCOUNT => {ROWS}))")
        yield running


def frozen(server: Server) -> int:
    """Freezes the process that there is, and returns its id."""
    (pid,) = java_of(server.process.process.pid)
    os.kill(pid, signal.SIGSTOP)
    return pid


def health(server: Server) -> dict[str, Any]:
    answer = httpx.get(f"{server.url}/healthz", timeout=60)
    return {**answer.json(), "status": answer.status_code}


def asking(session: RemoteSession, statement: str) -> tuple[threading.Thread, list[Any]]:
    outcome: list[Any] = []

    def ask() -> None:
        try:
            outcome.append(session.execute(statement).rows())
        except SnowmeltError as error:
            outcome.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, outcome


def is_running(server: Server, statement: str) -> bool:
    found = server.session.execute(
        "SELECT COUNT(*) FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY()) "
        f"WHERE query_text = '{statement}' AND execution_status = 'RUNNING'"
    )
    return found.rows() == [(1,)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_statements_before_and_while_it_is_frozen(tmp_path: Path) -> None:
    with a_server(tmp_path) as server:
        at_work, while_frozen, to_cancel = (server.new_session() for _ in range(3))
        first = asking(at_work, LONG)
        wait_until(lambda: is_running(server, LONG), "a statement is at work")
        pid = frozen(server)
        second = asking(while_frozen, "SELECT SUM(n) FROM numbers")
        # What needs no Spark is answered meanwhile.
        assert server.session.execute("SHOW TABLES").rows()
        server.session.execute("INSERT INTO numbers VALUES (1000)")

        wait_until(lambda: health(server)["status"] == 503, lambda: health(server))
        told = health(server)
        assert told["state"] in ("silent", "starting"), told
        assert "has not answered for" in told["reason"]
        wait_until(lambda: pid not in java_of(server.process.process.pid), "the frozen process is gone")

        for thread, _ in (first, second):
            thread.join(DEADLINE)
        # Both began again, and the second reads what was committed when it came.
        assert first[1] == [[(0,)]]
        assert second[1] in ([[(TOTAL,)]], [[(TOTAL + 1000,)]])
        wait_until(lambda: health(server)["status"] == 200, lambda: health(server))
        assert server.session.execute("SELECT COUNT(*) FROM numbers").rows() == [(ROWS + 1,)]

        # Whoever cancels a statement is not held up, however long Spark says nothing.
        cancelled = asking(to_cancel, LONG)
        wait_until(lambda: is_running(server, LONG), "another statement is at work")
        query = server.session.execute(
            "SELECT query_id FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY()) "
            f"WHERE query_text = '{LONG}' AND execution_status = 'RUNNING'"
        ).rows()[0][0]
        pid = frozen(server)
        server.session.execute(f"SELECT SYSTEM$CANCEL_QUERY('{query}')")
        assert pid in java_of(server.process.process.pid), "before Spark was replaced"
        cancelled[0].join(DEADLINE)
        assert cancelled[1][0].code == "000604", cancelled[1]
        assert server.session.execute("SELECT COUNT(*) FROM numbers").rows() == [(ROWS + 1,)]
        for session in (at_work, while_frozen, to_cancel):
            session.close()
        server.stop()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_stopping_the_server_while_it_is_frozen(tmp_path: Path) -> None:
    with a_server(tmp_path) as server:
        waiting = asking(server.new_session(), "SELECT SUM(n) FROM numbers WHERE n > 0")
        waiting[0].join(DEADLINE)
        pid = frozen(server)
        waiting = asking(server.new_session(), "SELECT SUM(n) FROM numbers WHERE n > 1")
        server.stop()
        waiting[0].join(DEADLINE)
        assert isinstance(waiting[1][0], SnowmeltError), "whoever waits is told"
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "no process is left behind")


def test_what_takes_too_long_to_start_is_killed() -> None:
    began = time.monotonic()
    with jvm.killed_after(0.2):
        code = os.waitstatus_to_exitcode(os.waitpid(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "600"), 0)[1])
    assert code == -signal.SIGKILL
    assert time.monotonic() - began < 500
    with jvm.killed_after(600):
        assert os.spawnlp(os.P_WAIT, "true", "true") == 0
