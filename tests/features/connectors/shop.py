"""A shop whose rows change all the time, Snowmelt in a process that can be killed, and what must be true in the end."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from tests.features.connectors.capture import Executes, connect, rows
from tests.support.waiting import wait_until

Source = psycopg.Connection[Any]
_ROWS = 2000


@contextmanager
def shop_server() -> Iterator[EmbeddedPostgres]:
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
        [sys.executable, "-m", "tests.features.connectors.child", str(data)],
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


def wait_for_commits(data: Path, count: int) -> None:
    """Until so many batches more have landed, however slow the machine is."""

    def commits() -> int:
        return sum(1 for _ in data.glob("tables/**/_delta_log/*.json"))

    begun = commits()
    wait_until(lambda: commits() >= begun + count, lambda: f"{commits()} commits, and {begun} at first")


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


def check_raw(session: Executes, versions: dict[int, int]) -> None:
    query = "SELECT after:id::int, after:version::int FROM raw_changes WHERE operation IN ('INSERT', 'UPDATE')"
    changes = Counter(rows(session, query))
    assert [item for item, count in changes.items() if count > 1] == []
    # Of a row, what a snapshot read last, and every version since.
    reads = "SELECT after:id::int, max(after:version::int) FROM raw_changes WHERE operation = 'READ' GROUP BY 1"
    read = dict(rows(session, reads))
    for id_, version in versions.items():
        first = read[id_] + 1 if id_ in read else 0
        assert all((id_, each) in changes for each in range(first, version + 1)), id_


def restart(server: EmbeddedPostgres) -> None:
    """Children of a killed postmaster take a moment to end, until which another does not start."""

    def started() -> bool:
        try:
            server.start()
        except Exception:
            return False
        return True

    wait_until(started, "PostgreSQL starts again")
