"""SIGTERM and Ctrl-C: everybody is told, nothing is left behind, and it does not take longer than promised."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from tests.crash.inspection import check_at_rest, contents
from tests.crash.serving import served
from tests.crash.test_processes import small_spark
from tests.support.java import java_of
from tests.support.waiting import DEADLINE, wait_until
from tests.support.wire import WireSession

STOP_SECONDS = 30
"""The default is 10; machines of tests may be slow."""
ENDLESS = "SELECT COUNT(*) FROM numbers a, numbers b, numbers c, numbers d WHERE a.n + b.n + c.n + d.n < 0"
LAGGING = (
    "CREATE DYNAMIC TABLE copied TARGET_LAG = '1 minute' WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE"
    " REFRESH_MODE = FULL AS SELECT n FROM numbers WHERE ("
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_server_at_work_stops_in_time(tmp_path: Path, number: signal.Signals) -> None:
    config = small_spark(tmp_path / "snowmelt.toml")
    config.write_text(f"stop_seconds = {STOP_SECONDS}\n{config.read_text()}")
    data = tmp_path / "data"
    with served(data, config) as server:
        first, second = WireSession(server.url, "chosen"), WireSession(server.url, "chosen")
        first.rows("CREATE TABLE numbers (n INT)")
        first.rows("INSERT INTO numbers SELECT SEQ4() FROM TABLE(GENERATOR(ROWCOUNT => 3000))")
        # A refresh that never ends, too.
        first.rows(f"{LAGGING}{ENDLESS}) = 0")
        second.rows("BEGIN")
        second.rows("INSERT INTO numbers VALUES (-1)")
        answers: list[dict[str, Any]] = []
        waiting = threading.Thread(target=lambda: answers.append(first.send(ENDLESS)))
        waiting.start()
        history = "TABLE(INFORMATION_SCHEMA.QUERY_HISTORY(RESULT_LIMIT => 10000))"
        running = f"SELECT COUNT(*) FROM {history} WHERE EXECUTION_STATUS = 'RUNNING'"
        wait_until(lambda: int(second.rows(running)[0][0]) >= 2, "both run")
        java = java_of(server.process.process.pid)
        assert len(java) == 1

        began = time.monotonic()
        assert server.process.end(number) == (0 if number == signal.SIGTERM else 130), server.process.printed
        assert time.monotonic() - began < STOP_SECONDS
        waiting.join(DEADLINE)
        assert not answers[0]["success"]
        assert (answers[0]["code"], answers[0]["data"]["sqlState"]) == ("370005", "57P01")
        assert "The server is being stopped" in answers[0]["message"]
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in java), "Spark's process is gone", 30)
        for session in (first, second):
            session.close()
    with open_account(data, settings=Settings()) as account:
        assert len(contents(account)["NUMBERS"]) == 3000
        check_at_rest(account)
