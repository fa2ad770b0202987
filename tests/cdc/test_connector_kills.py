"""Whatever is killed, whenever: no change is lost, none is there twice, and a mirror ends up as its source."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.core.config import Settings
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.service.account import Account
from snowmelt.service.session import Session
from tests.cdc.capture import caught_up, connect, create_statement, rows, standing, wait_until, write_load
from tests.conftest import SPARK

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

Source = psycopg.Connection[Any]
_ROWS = 2000


@pytest.fixture
def shop() -> Iterator[EmbeddedPostgres]:
    """A server of its own, because it is killed too."""
    with EmbeddedPostgres(LOGICAL_REPLICATION) as server:
        with connect(server) as source:
            source.execute("CREATE TABLE items (id int PRIMARY KEY, version int NOT NULL, body text)")
            source.execute(f"INSERT INTO items SELECT g, 0, 'b' || g FROM generate_series(1, {_ROWS}) g".encode())
        yield server


@contextmanager
def running(data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Snowmelt in a process that can be killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cdc.child", str(data)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
    )
    assert process.stdout is not None
    try:
        # What it logs while it recovers comes first.
        assert any(line == b"ready\n" for line in process.stdout)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def declare(data: Path, server: EmbeddedPostgres) -> None:
    with Account.open(data, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        session.execute(create_statement("raw", server, ["items"], "", "postgres"))
        session.execute(create_statement("mirror", server, ["items"], "TARGET = MIRROR", "postgres"))


def change(source: Source, turn: int) -> None:
    """A transaction: updates, and now and then a row that comes or goes."""
    chosen = random.Random(turn)
    with source.transaction():
        low = chosen.randint(1, _ROWS)
        source.execute("UPDATE items SET version = version + 1 WHERE id BETWEEN %s AND %s", [low, low + 20])
        if turn % 5 == 0:
            source.execute("DELETE FROM items WHERE id = %s", [_ROWS + turn - 5])
            source.execute("INSERT INTO items VALUES (%s, 0, 'new')", [_ROWS + turn])
    time.sleep(0.03)


def check_everything(data: Path, server: EmbeddedPostgres) -> None:
    """After all has landed: the mirror is the source, and the raw table has every version of every row once."""
    with Account.open(data, settings=Settings(spark=SPARK)) as account, connect(server) as source:
        account.connectors.start()
        session = account.session()
        for name in ("raw", "mirror"):
            caught_up(session, name, source, deadline=900)
            assert standing(session, name)["dead_letters"] == 0
        expected = source.execute("SELECT id, version, body FROM items ORDER BY id").fetchall()
        assert rows(session, "SELECT id, version, body FROM items ORDER BY id") == expected
        check_raw(session, {row[0]: row[1] for row in expected})


def check_raw(session: Session, versions: dict[int, int]) -> None:
    query = "SELECT after:id::int, after:version::int FROM raw_changes WHERE operation IN ('INSERT', 'UPDATE')"
    changes = Counter(rows(session, query))
    assert [item for item, count in changes.items() if count > 1] == []
    # Of a row, what a snapshot read last, and every version since.
    reads = "SELECT after:id::int, max(after:version::int) FROM raw_changes WHERE operation = 'READ' GROUP BY 1"
    read = dict(rows(session, reads))
    for id_, version in versions.items():
        first = read[id_] + 1 if id_ in read else 0
        assert all((id_, each) in changes for each in range(first, version + 1)), id_


def streaming(data: Path, server: EmbeddedPostgres) -> bool:
    with connect(server) as source:
        found = source.execute("SELECT count(*) FROM pg_stat_replication").fetchone()
        return found is not None and found[0] == 2


def test_snowmelt_is_killed_again_and_again(shop: EmbeddedPostgres, tmp_path: Path) -> None:
    """From the first snapshot on, under load."""
    declare(tmp_path, shop)
    with write_load(shop, "postgres", change):
        for wait in (6.0, 12.0, 9.0, 15.0):
            with running(tmp_path):
                time.sleep(wait)
        with running(tmp_path) as process:
            wait_until(lambda: streaming(tmp_path, shop), "both connectors stream")
            time.sleep(5)
            process.send_signal(signal.SIGKILL)
    check_everything(tmp_path, shop)


def test_engines_and_postgresql_are_killed(shop: EmbeddedPostgres, tmp_path: Path) -> None:
    declare(tmp_path, shop)
    with Account.open(tmp_path, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        account.connectors.start()
        with write_load(shop, "postgres", change):
            for name in ("raw", "mirror"):
                wait_until(lambda name=name: standing(session, name)["state"] == "STREAMING", "it streams")  # type: ignore[misc]
                pid = engine_pid(account, name)
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda name=name, pid=pid: engine_pid(account, name) not in (0, pid), "another engine")  # type: ignore[misc]
            wait_until(lambda: streaming(tmp_path, shop), "both connectors stream again")
            shop.kill()
            wait_until(lambda: "RETRYING" in (standing(session, "raw")["state"], standing(session, "mirror")["state"]),
                       "the loss is noticed")  # fmt: skip
            restart(shop)
            wait_until(lambda: streaming(tmp_path, shop), "both connectors stream once more")
    check_everything(tmp_path, shop)


def engine_pid(account: Account, name: str) -> int:
    with account.state.read() as state:
        found = next(item for item in state.catalog.objects() if item.name.name == name.upper())
    return account.connectors.engine_pid(found.id) or 0


def restart(server: EmbeddedPostgres) -> None:
    """Children of a killed postmaster take a moment to end, until which another does not start."""

    def started() -> bool:
        try:
            server.start()
        except Exception:
            return False
        return True

    wait_until(started, "PostgreSQL starts again")
