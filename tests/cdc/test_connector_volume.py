"""One transaction of many megabytes, without as many megabytes of memory.

`SNOWMELT_TRANSACTION_MB` says how many; what was measured with a gigabyte is in docs/design/cdc.md.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.service.account import Account
from snowmelt.service.session import Session
from tests.cdc.capture import caught_up, connect, create_statement, in_state, rows, standing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
Source = psycopg.Connection[Any]
_MEGABYTES = int(os.environ.get("SNOWMELT_TRANSACTION_MB", "50"))
_ROWS = _MEGABYTES * 100
_ENGINE_MEGABYTES = 1500
"""More than this the engine's process must not need: its heap has 512, its queue 64."""


@pytest.fixture
def wide_server() -> Iterator[EmbeddedPostgres]:
    """One that keeps its log however long a transaction is."""
    with EmbeddedPostgres({**LOGICAL_REPLICATION, "max_slot_wal_keep_size": "-1", "max_wal_size": "4GB"}) as running:
        yield running


def test_one_large_transaction(
    captures: Session, account: Account, wide_server: EmbeddedPostgres, capsys: pytest.CaptureFixture[str]
) -> None:
    with connect(wide_server) as source:
        source.execute("CREATE TABLE items (id int PRIMARY KEY, tag text, body text)")
        source.execute("ALTER TABLE items ALTER COLUMN body SET STORAGE EXTERNAL")
        captures.execute(create_statement("shop", wide_server, ["items"], "TARGET = MIRROR", "postgres"))
        in_state(captures, "shop", "STREAMING")
        engine = account.connectors.engine_pid(connector_id(account))
        begun = time.monotonic()
        with source.transaction():
            # 10,240 bytes each.
            body = "repeat(md5(g::text), 320)"
            source.execute(f"INSERT INTO items SELECT g, 'new', {body} FROM generate_series(1, {_ROWS}) g".encode())
            source.execute("UPDATE items SET tag = 'changed' WHERE id % 2 = 0")
            source.execute("DELETE FROM items WHERE id % 10 = 0")
        committed = time.monotonic()
        caught_up(captures, "shop", source, deadline=3000)
        landed = time.monotonic()
        query = "SELECT id, tag, md5(body) FROM items ORDER BY id"
        assert rows(captures, query) == source.execute(query.encode()).fetchall()
        assert standing(captures, "shop")["dead_letters"] == 0
    own, its = peak_megabytes(os.getpid()), peak_megabytes(engine)
    with capsys.disabled():
        print(f"\n{_MEGABYTES} MB in one transaction: written in {committed - begun:.0f} s,", end=" ")
        print(f"landed {landed - committed:.0f} s later; peak memory: Snowmelt {own} MB, the engine {its} MB")
    assert its is None or its < _ENGINE_MEGABYTES


def connector_id(account: Account) -> str:
    with account.state.read() as state:
        return next(item.id for item in state.catalog.objects() if item.name.name == "SHOP" and not item.dropped_on)


def peak_megabytes(pid: int | None) -> int | None:
    if sys.platform != "linux" or pid is None:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found is not None else None
