"""Java's heap runs out: who asked for too much is told, everybody else begins again, and the server goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.client import RemoteSession
from tests.crash.serving import Server, served
from tests.support.java import java_of
from tests.support.waiting import DEADLINE, wait_until

CONFIG = """
[quick]
mode = "off"

[spark]
"spark.master" = "local[2]"
"spark.driver.memory" = "512m"
"spark.sql.shuffle.partitions" = "2"
"spark.default.parallelism" = "2"
"""
ROWS = 1_000_000
TOO_MUCH = {
    "one array of all rows": "SELECT ARRAY_SIZE(ARRAY_AGG(REPEAT(SHA2(a.n), 20))) FROM big a, small b",
    "one text of all rows": "SELECT LENGTH(LISTAGG(REPEAT('x', 1000))) FROM big",
    "one value": "SELECT LENGTH(REPEAT(REPEAT('x', 1000000), 900))",
    "an array for each row": "SELECT n, ARRAY_SIZE(ARRAY_GENERATE_RANGE(0, 200000000)) FROM small",
    "a window": "SELECT MAX(ARRAY_SIZE(x)) FROM (SELECT ARRAY_AGG(SHA2(n)) OVER (PARTITION BY n % 2) AS x FROM big)",
    "written": "INSERT INTO target SELECT ARRAY_SIZE(ARRAY_AGG(REPEAT(SHA2(a.n), 20))) FROM big a, small b",
    "created": "CREATE TABLE made AS SELECT ARRAY_SIZE(ARRAY_AGG(REPEAT(SHA2(a.n), 20))) AS n FROM big a, small b",
}
BESIDE = "SELECT COUNT(*) FROM narrow a, narrow b, narrow c WHERE a.n + b.n + c.n < 0"
"""Long enough to run meanwhile, and in need of no memory."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("memory")
    config = folder / "snowmelt.toml"
    config.write_text(CONFIG, encoding="utf-8")
    with served(folder / "data", config) as running:
        make = running.session.execute
        make(f"CREATE TABLE big AS SELECT SEQ4() AS n FROM TABLE(GENERATOR(ROWCOUNT => {ROWS}))")
        make("CREATE TABLE small AS SELECT n FROM big WHERE n < 20")
        make("CREATE TABLE narrow AS SELECT n FROM big WHERE n < 700")
        make("CREATE TABLE target (n INT)")
        yield running
        running.stop()


def restarts(server: Server) -> int:
    return int(httpx.get(f"{server.url}/healthz", timeout=60).json()["engine_restarts"])


def ask(session: RemoteSession, statement: str, into: list[Any]) -> None:
    try:
        into.append(session.execute(statement).rows())
    except SnowmeltError as error:
        into.append(error)


def is_at_work(server: Server, statement: str) -> bool:
    found = server.session.execute(
        "SELECT COUNT(*) FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY()) "
        f"WHERE query_text = '{statement}' AND execution_status = 'RUNNING'"
    )
    return found.rows() == [(1,)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("statement", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_statement_that_takes_all_memory(server: Server, statement: str) -> None:
    before = restarts(server)
    beside = server.new_session()
    outcome: list[Any] = []
    other = threading.Thread(target=ask, args=(beside, BESIDE, outcome))
    other.start()
    wait_until(lambda: is_at_work(server, BESIDE), "the other statement runs")

    with pytest.raises(SnowmeltError, match="Spark ran out of memory") as caught:
        server.session.execute(statement)
    assert (caught.value.code, caught.value.transient) == ("300002", False)
    assert "spark.driver.memory" in caught.value.text

    other.join(DEADLINE)
    assert outcome == [[(0,)]], "what ran beside it began again"
    assert server.session.execute("SELECT COUNT(*), MAX(n) FROM big").rows() == [(ROWS, ROWS - 1)]
    assert server.session.execute("SELECT COUNT(*) FROM target").rows() == [(0,)], "nothing of it was written"
    assert server.session.execute("SHOW TABLES LIKE 'made'").rows() == []
    # A busy machine collects garbage for so long before that Spark may count as silent first.
    assert restarts(server) > before, "the process was replaced"
    assert len(java_of(server.process.process.pid)) == 1
    beside.close()
