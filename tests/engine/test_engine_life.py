"""kill -9 of Spark's Java process, at rest and at work: the next statement runs, and nothing is lost or there twice."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.application import EngineState
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.clients.server import serving
from tests.conftest import SPARK
from tests.crash.inspection import check_at_rest
from tests.support.java import java_of, kill_java
from tests.support.waiting import DEADLINE, wait_until

ROWS = 330
LONG = f"SELECT COUNT(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n < 0 OR a.n + b.n + c.n > {3 * ROWS}"
"""Long enough to be killed in: 36 million sums, which match none."""


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    # Everything but the smallest writes goes through Spark.
    settings = Settings(spark=SPARK, small_write_rows=10, small_query_bytes=100)
    with open_account(tmp_path_factory.mktemp("life"), settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE numbers (n INT, text VARCHAR)")
        session.execute(f"INSERT INTO numbers SELECT SEQ4(), 'x' FROM TABLE(GENERATOR(ROWCOUNT => {ROWS}))")
        yield account
        check_at_rest(account)


def await_ready(account: Account) -> None:
    wait_until(lambda: account.engine.health().state is EngineState.READY, account.engine.health)


def begin(session: Session, statement: str) -> tuple[threading.Thread, list[Any]]:
    """The statement in a thread, once Spark works on it, and where its outcome will be."""
    outcome: list[Any] = []

    def execute() -> None:
        try:
            outcome.append(session.execute(statement).rows())
        except SnowmeltError as error:
            outcome.append(error)

    thread = threading.Thread(target=execute)
    thread.start()

    def works() -> bool:
        run = session.running
        return bool(outcome) or (run is not None and bool(session.account.engine.jobs([run.query_id])))

    wait_until(works, "Spark works on it")
    return thread, outcome


def killed_during(session: Session, statement: str) -> Any:
    await_ready(session.account)
    thread, outcome = begin(session, statement)
    assert not outcome, "the statement was too quick to be killed in"
    old = kill_java(os.getpid())
    thread.join(DEADLINE)
    assert old not in java_of(os.getpid())
    return outcome[0]


def one(session: Session, query: str) -> Any:
    return session.execute(query).rows()[0][0]


@pytest.mark.timeout(900)
def test_at_rest_with_clients_around(life: Account) -> None:
    session = life.session()
    session.execute("CREATE TEMPORARY TABLE mine AS SELECT n * 2 AS doubled FROM numbers")
    session.execute("SET half = 7")
    session.execute("CREATE FUNCTION twice(n INT) RETURNS INT AS 'n * 2'")
    total = one(session, "SELECT SUM(doubled) FROM mine")
    old = kill_java(os.getpid())
    with serving(life) as port:
        # Nobody asked Spark for anything, and still it is noticed and another one is started.
        wait_until(lambda: httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 503, "the death is noticed")
        told = httpx.get(f"http://127.0.0.1:{port}/healthz").json()
        assert told["state"] == "starting"
        assert "ended, signal 9" in told["reason"]
        # What needs no Spark is answered meanwhile.
        assert one(session, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'NUMBERS'") == 1
        wait_until(lambda: httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200, "the next one is ready")
    assert old not in java_of(os.getpid())
    assert len(java_of(os.getpid())) == 1

    outcomes: list[Any] = []
    queries = (f"SELECT SUM(doubled) + {number} FROM mine" for number in range(4))

    def ask(query: str) -> None:
        try:
            outcomes.append(one(session.beside(), query))
        except SnowmeltError as error:
            outcomes.append(error)

    clients = [threading.Thread(target=ask, args=(query,)) for query in queries]
    kill_java(os.getpid())
    for client in clients:
        client.start()
    for client in clients:
        client.join(DEADLINE)
    assert sorted(outcomes) == [total + number for number in range(4)]
    assert one(session, "SELECT MAX(twice(doubled)) + $half FROM mine") == 4 * (ROWS - 1) + 7
    assert len(java_of(os.getpid())) == 1
    session.close()


@pytest.mark.timeout(900)
def test_a_write_by_spark_is_repeated_and_there_once(life: Account) -> None:
    session = life.session()
    session.execute("CREATE TABLE written (n INT)")
    said = killed_during(session, f"INSERT INTO written SELECT n FROM numbers WHERE ({LONG}) = 0")
    assert said == [(ROWS,)], said
    assert session.execute("SELECT COUNT(*), COUNT(DISTINCT n) FROM written").rows() == [(ROWS, ROWS)]


def select(session: Session) -> None:
    assert killed_during(session, LONG) == [(0,)]


def merge(session: Session) -> None:
    session.execute("CREATE TABLE merged AS SELECT n, 'old' AS text FROM numbers")
    killed_during(session, f"MERGE INTO merged m USING (SELECT n FROM numbers WHERE n > ({LONG}) + 99) s ON m.n = s.n "
                           "WHEN MATCHED THEN UPDATE SET text = 'new'")  # fmt: skip
    assert session.execute("SELECT text, COUNT(*) FROM merged GROUP BY text ORDER BY text").rows() == [
        ("new", ROWS - 100), ("old", 100),
    ]  # fmt: skip


def in_a_transaction(session: Session) -> None:
    session.execute("CREATE TABLE kept (n INT)")
    session.execute("BEGIN")
    session.execute("INSERT INTO kept VALUES (1)")
    killed_during(session, f"INSERT INTO kept SELECT n + 10 FROM numbers WHERE ({LONG}) = 0")
    assert one(session, "SELECT COUNT(*) FROM kept") == ROWS + 1
    session.execute("COMMIT")
    assert one(session, "SELECT COUNT(*) FROM kept") == ROWS + 1


def refresh(session: Session) -> None:
    session.execute(
        "CREATE DYNAMIC TABLE summed TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH REFRESH_MODE = FULL AS "
        f"SELECT text, SUM(n) AS total FROM numbers WHERE ({LONG}) = 0 GROUP BY text"
    )
    session.execute("INSERT INTO numbers VALUES (0, 'y')")
    killed_during(session, "ALTER DYNAMIC TABLE summed REFRESH")
    assert one(session, "SELECT SUM(total) FROM summed") == one(session, "SELECT SUM(n) FROM numbers")
    session.execute("DELETE FROM numbers WHERE text = 'y'")
    session.execute("DROP DYNAMIC TABLE summed")


def unload_and_copy(session: Session) -> None:
    session.execute("CREATE STAGE files")
    pairs = f"SELECT a.n * {ROWS} + b.n FROM numbers a, numbers b WHERE ({LONG}) = 0"
    killed_during(session, f"COPY INTO @files FROM ({pairs}) FILE_FORMAT = (TYPE = CSV)")
    session.execute("CREATE TABLE copied (n INT, digest VARCHAR)")
    # Batch after batch goes through Spark.
    killed_during(session, "COPY INTO copied FROM (SELECT $1, SHA2($1) FROM @files) FILE_FORMAT = (TYPE = CSV)")
    found = session.execute("SELECT COUNT(*), COUNT(DISTINCT n), COUNT(DISTINCT digest) FROM copied").rows()
    assert found == [(ROWS**2, ROWS**2, ROWS**2)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("work", [select, merge, in_a_transaction, refresh, unload_and_copy])
def test_killed_at_work(life: Account, work: Callable[[Session], None]) -> None:
    work(life.session())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_it_dies_again_and_again(life: Account) -> None:
    """A statement that met two deaths fails and says what to do; after more of them the engine rests in between."""
    session = life.session()
    await_ready(life)
    thread, outcome = begin(session, LONG)
    kill_java(os.getpid())
    wait_until(lambda: life.engine.health().state is not EngineState.READY, "noticed")
    await_ready(life)
    wait_until(lambda: bool(session.running and life.engine.jobs([session.running.query_id])), "it runs again")
    kill_java(os.getpid())
    thread.join(DEADLINE)
    assert (outcome[0].code, outcome[0].transient) == ("000603", True)
    assert "Run it again" in outcome[0].text

    def broken() -> bool:
        if life.engine.health().state is EngineState.READY and len(java_of(os.getpid())) == 1:
            kill_java(os.getpid())
        return life.engine.health().state is EngineState.BROKEN

    wait_until(broken, life.engine.health)
    with pytest.raises(SnowmeltError, match="the engine is not available: Spark's Java process ended") as caught:
        session.execute("SELECT SUM(n) FROM numbers")
    assert (caught.value.code, caught.value.transient) == ("000603", True)
    assert session.execute("SHOW TABLES").rows()
    await_ready(life)
    assert one(session, "SELECT COUNT(*) FROM numbers") == ROWS


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_stopped_context_is_replaced(life: Account, tmp_path: Path) -> None:
    await_ready(life)
    before = life.engine.health().restarts
    life.engine.session().sparkContext._jsc.stop()
    assert one(life.session(), "SELECT COUNT(*) FROM numbers") == ROWS
    assert life.engine.health().restarts == before + 1
