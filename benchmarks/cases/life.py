"""How soon things go on: a server that was killed, and Spark after a statement was cancelled."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from benchmarks.measuring import Aim, Measure, Outcome, Samples
from benchmarks.workbench import Workbench
from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.client import RemoteSession

_TABLES, _DYNAMIC_TABLES = 30, 4
_ROUNDS = 5
_RESTART_AIM, _CANCEL_AIM = 10_000, 2_000
_PATIENCE = 300.0
_MILLION = 1_000_000
_RANGE = "ARRAY_GENERATE_RANGE(0, 9999)"
_TRIPLES = "FROM million a, million b, million c WHERE a.n + b.n + c.n = -3"
_ENDLESS = {
    "a join of 10^12 pairs": "SELECT COUNT(*) FROM million a, million b WHERE a.n * b.n = -3 OR a.n + b.n = -5",
    "three tables joined without keys": f"SELECT COUNT(*) {_TRIPLES}",
    "the same in an INSERT": f"INSERT INTO target SELECT a.n {_TRIPLES}",
    "a join with few keys": "SELECT COUNT(*) FROM million a JOIN million b ON a.n % 2 = b.n % 2 WHERE a.n * b.n < -5",
    "a sort of 10^7 rows": "SELECT MAX(p) FROM (SELECT ROW_NUMBER() OVER (ORDER BY SHA2(a.n || b.n)) AS p "
    "FROM million a, ten b)",
    "a range of 2 * 10^11 rows": "SELECT COUNT(*) FROM TABLE(GENERATOR(ROWCOUNT => 200000000000))",
    "a constant that is computed while planning": f"SELECT REDUCE({_RANGE}, 0, (a, x) -> a + REDUCE({_RANGE}, 0, "
    f"(b, y) -> b + REDUCE({_RANGE}, 0, (c, z) -> (c + x + y + z) % 7)))",
}


def restart(bench: Workbench) -> Outcome:
    """kill -9 of a server with a small directory: until it answers again, and until Spark is there."""
    data = bench.folder("killed") / "data"
    bench.step("making a small directory")
    with serving(data) as (_, url):
        _fill(RemoteSession.of_directory(url, data))
    answers: list[float] = []
    ready: list[float] = []
    for number in range(bench.rounds(_ROUNDS) + 1):
        bench.step(f"kill {number}")
        began = time.monotonic()
        with serving(data) as (process, url):
            with closing(RemoteSession.of_directory(url, data)) as session:
                assert session.execute("SELECT COUNT(*) FROM t0").rows() == [(1,)]
                answers.append((time.monotonic() - began) * 1000)
            await_that(lambda url=url: httpx.get(f"{url}/healthz", timeout=60).status_code == 200)
            ready.append((time.monotonic() - began) * 1000)
            process.send_signal(signal.SIGKILL)
    measures = (
        Measure("from the start to a SELECT's rows", Samples(tuple(answers[1:]), (answers[0],))),
        Measure("from the start to /healthz 200", Samples(tuple(ready[1:]), (ready[0],))),
    )
    worst = max(answers[1:])
    aim = Aim("answers within 10 s", f"{worst / 1000:.1f} s at worst", worst < _RESTART_AIM)
    return Outcome(measures, (aim,), {"tables": _TABLES, "dynamic tables": _DYNAMIC_TABLES})


def _fill(session: RemoteSession) -> None:
    with closing(session):
        for number in range(_TABLES):
            session.execute(f"CREATE TABLE t{number} AS SELECT {number} AS n")
        for number in range(_DYNAMIC_TABLES):
            session.execute(
                f"CREATE DYNAMIC TABLE d{number} TARGET_LAG = '1 minute' WAREHOUSE = COMPUTE_WH "
                f"AS SELECT n, COUNT(*) AS c FROM t{number} GROUP BY n"
            )
        session.execute("CREATE STREAM s0 ON TABLE t0")


@contextmanager
def serving(data: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, once it says where it is, and its address."""
    command = [sys.executable, "-m", "snowmelt", "serve", "--data", str(data), "--port", "0"]
    settings = {**os.environ, "SNOWMELT_ADMIN_PASSWORD": "chosen", "SNOWMELT_LOG_LEVEL": "ERROR"}
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.search(r"Snowmelt serves \S+ at (http://\S+)", line):
                    yield process, found[1]
                    break
            else:
                raise RuntimeError("The server ended before it said where it is.")
        finally:
            process.terminate()


def cancelling(bench: Workbench) -> Outcome:
    """Statements that would not end by themselves: from cancelling them to the end of all that Spark did for them."""
    execute = bench.connection.execute
    execute(f"CREATE OR REPLACE TABLE million AS SELECT SEQ4() AS n FROM TABLE(GENERATOR(ROWCOUNT => {_MILLION}))")
    execute("CREATE OR REPLACE TABLE ten AS SELECT n FROM million WHERE n < 10")
    execute("CREATE OR REPLACE TABLE target (n INTEGER)")
    measures = []
    for name, statement in _ENDLESS.items():
        bench.step(name)
        taken = [_cancelled(bench, statement) for _ in range(bench.rounds(_ROUNDS))]
        measures.append(Measure(name, Samples(tuple(taken))))
    worst = max(measure.snowmelt.maximum for measure in measures)
    restarts = bench.account.engine.health().restarts
    aims = (
        Aim("tasks stop within 2 s", f"{worst / 1000:.1f} s at worst", worst < _CANCEL_AIM),
        Aim("without another process", f"{restarts} restarts", restarts == 0),
    )
    return Outcome(tuple(measures), aims, {"rows": _MILLION})


def _cancelled(bench: Workbench, statement: str) -> float:
    session = bench.account.session()
    failed: list[str] = []

    def execute() -> None:
        try:
            session.execute(statement)
        except SnowmeltError as error:
            failed.append(error.code)

    thread = threading.Thread(target=execute)
    thread.start()
    engine = bench.account.engine
    await_that(lambda: (run := session.running) is not None and engine.is_busy(run.tag))
    tag = session.running.tag if session.running is not None else ""
    began = time.monotonic()
    session.cancel()
    thread.join(_PATIENCE)
    await_that(lambda: not engine.is_busy(tag))
    assert failed == ["000604"], failed
    return (time.monotonic() - began) * 1000


def await_that(condition: Callable[[], bool]) -> None:
    """Returns once it is so."""
    pause = threading.Event()
    until = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < until, "not in time"
        pause.wait(0.02)
