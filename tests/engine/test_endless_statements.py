"""Statements that would never end: they lock nobody out, and are gone soon after they are cancelled."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.clients.server import PASSWORD, serving
from tests.conftest import SPARK
from tests.support.java import java_of
from tests.support.waiting import DEADLINE, wait_until
from tests.support.wire import WireSession

MILLION = 1_000_000
PAIRS = "SELECT COUNT(*) FROM million a, million b WHERE a.n * b.n = -3 OR a.n + b.n = -5"
"""10^12 pairs."""
TRIPLES = "SELECT COUNT(*) FROM million a, million b, million c WHERE a.n + b.n + c.n = -3"
"""A task that never looks up: its thread has to be stopped."""
RANGE = "ARRAY_GENERATE_RANGE(0, 9999)"
NEVER_LOOK_UP = {
    "query": TRIPLES,
    "insert": f"INSERT INTO target SELECT a.n FROM {TRIPLES.partition(' FROM ')[2]}",
    "create": f"CREATE OR REPLACE TABLE made AS SELECT a.n FROM {TRIPLES.partition(' FROM ')[2]}",
    "few keys": "SELECT COUNT(*) FROM million a JOIN million b ON a.n % 2 = b.n % 2 WHERE a.n * b.n < -5",
    "sort": "SELECT MAX(p) FROM (SELECT ROW_NUMBER() OVER (ORDER BY SHA2(a.n || b.n)) AS p FROM million a, small b)",
    "no rows read": "SELECT COUNT(*) FROM TABLE(GENERATOR(ROWCOUNT => 200000000000))",
    "while planned": f"SELECT REDUCE({RANGE}, 0, (a, x) -> a + REDUCE({RANGE}, 0, (b, y) -> b + REDUCE({RANGE}, 0,"
    " (c, z) -> (c + x + y + z) % 7)))",
}
PLACES = 4
STOPPED = 60.0
"""Seconds: on a quiet machine it is below two."""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    folder: Path = tmp_path_factory.mktemp("busy")
    settings = Settings(spark=SPARK, parallel_statements=PLACES, cancel_seconds=STOPPED / 2)
    with open_account(folder, settings=settings) as account:
        session = account.session()
        session.execute(f"CREATE TABLE million AS SELECT SEQ4() AS n FROM TABLE(GENERATOR(ROWCOUNT => {MILLION}))")
        session.execute("CREATE TABLE small AS SELECT n FROM million WHERE n < 10")
        yield account


def used(pid: int) -> float:
    """Seconds of processor time."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / 100


def is_idle(pid: int) -> bool:
    before = used(pid)
    threading.Event().wait(0.5)
    return used(pid) - before < 0.2


def running(client: WireSession) -> set[str]:
    found = client.rows(
        "SELECT query_id FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY(RESULT_LIMIT => 10000))"
        " WHERE EXECUTION_STATUS = 'RUNNING' AND QUERY_TEXT LIKE '%FROM million a%' AND QUERY_TEXT NOT LIKE '%HISTORY%'"
    )
    return {row[0] for row in found}


@pytest.mark.timeout(900)
def test_many_of_them_lock_nobody_out(busy: Account) -> None:
    restarts = busy.engine.health().restarts
    with serving(busy) as port:
        url = f"http://127.0.0.1:{port}"
        hogs = [WireSession(url, PASSWORD) for _ in range(2 * PLACES)]
        ids = [str(uuid.uuid4()) for _ in hogs]
        answers: list[dict[str, Any]] = []
        threads = [
            threading.Thread(target=lambda hog=hog, id=id: answers.append(hog.send(PAIRS, id)))
            for hog, id in zip(hogs, ids, strict=True)
        ]
        for thread in threads:
            thread.start()
        other = WireSession(url, PASSWORD)
        wait_until(lambda: len(running(other)) == len(hogs), lambda: f"{len(running(other))} run")

        assert other.rows("SHOW TABLES LIKE 'small'")
        assert other.rows("SELECT 1")[0][0] == "1"
        assert other.rows("SELECT SUM(n) FROM small")[0][0] == "45"
        assert other.rows("SELECT COUNT(*) FROM small a JOIN small b ON a.n = b.n")[0][0] == "10"
        assert not answers
        # By the statement as well as by the protocol.
        first = running(other).pop()
        assert other.rows(f"SELECT SYSTEM$CANCEL_QUERY('{first}')")
        for hog, id in zip(hogs, ids, strict=True):
            hog.abort(id)
        began = time.monotonic()
        for thread in threads:
            thread.join(DEADLINE)
        assert time.monotonic() - began < STOPPED
        assert {answer["code"] for answer in answers} == {"000604"}
        (java,) = java_of(os.getpid())
        wait_until(lambda: is_idle(java), "Spark does nothing any more", STOPPED)
        for client in (*hogs, other):
            client.close()
    assert busy.engine.health().restarts == restarts, "that needs no new process"


def stopped(session: Session, statement: str) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(statement)
    return caught.value


def cancelled(session: Session, statement: str, beside: Session) -> float:
    """Seconds from cancelling the statement, when Spark is at it, to its end."""
    outcome: list[SnowmeltError] = []
    thread = threading.Thread(target=lambda: outcome.append(stopped(session, statement)))
    thread.start()
    wait_until(lambda: session.running is not None and session.account.engine.is_busy(session.running.tag), "it runs")
    # Somebody else's, before and meanwhile.
    assert beside.execute("SELECT SUM(n) FROM small").rows() == [(45,)]
    began = time.monotonic()
    session.cancel()
    thread.join(DEADLINE)
    took = time.monotonic() - began
    assert [error.code for error in outcome] == ["000604"]
    return took


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "kind", [kind if kind == "query" else pytest.param(kind, marks=pytest.mark.slow) for kind in NEVER_LOOK_UP]
)
def test_what_never_looks_up_is_stopped_and_nothing_else(busy: Account, kind: str) -> None:
    session, beside = busy.session(), busy.session()
    session.execute("CREATE TABLE IF NOT EXISTS target (n INT)")
    restarts = busy.engine.health().restarts
    assert cancelled(session, NEVER_LOOK_UP[kind], beside) < STOPPED
    assert beside.execute("SELECT SUM(n) FROM small").rows() == [(45,)]
    assert session.execute("SELECT COUNT(*) FROM target").rows() == [(0,)]
    (java,) = java_of(os.getpid())
    wait_until(lambda: is_idle(java), "Spark does nothing any more", STOPPED)
    assert busy.engine.health().restarts == restarts, "that needs no new process"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_time_limit_ends_even_what_never_looks_up(busy: Account) -> None:
    session = busy.session()
    session.execute("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 20")
    assert stopped(session, TRIPLES).code == "000630"
    assert busy.session().execute("SELECT SUM(n) FROM small").rows() == [(45,)]
    (java,) = java_of(os.getpid())
    wait_until(lambda: is_idle(java), "Spark does nothing any more", STOPPED)
