"""One transaction of many megabytes, without as many megabytes of memory.

`SNOWMELT_TRANSACTION_MB` says how many; what was measured with a gigabyte is in docs/design/cdc.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.connectors.service import Connectors
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.runtime.account import Account
from snowmelt.state.model import CatalogObject, TableDefinition
from tests.features.connectors.capture import caught_up, connect, create_statement, in_state, standing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
_MEGABYTES = int(os.environ.get("SNOWMELT_TRANSACTION_MB", "50"))
_ROWS = _MEGABYTES * 100
_ENGINE_MEGABYTES, _OWN_MEGABYTES = 1500, 2000
"""More than this they must not need, however large the transaction: the engine's heap has 512, its queue 64."""


@pytest.fixture
def wide_server() -> Iterator[EmbeddedPostgres]:
    """One that keeps its log however long a transaction is."""
    with EmbeddedPostgres({**LOGICAL_REPLICATION, "max_slot_wal_keep_size": "-1", "max_wal_size": "4GB"}) as running:
        yield running


def test_one_large_transaction(
    wide_server: EmbeddedPostgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark is not needed for a mirror, and its memory not counted."""
    with open_account(tmp_path, settings=Settings()) as account, connect(wide_server) as source:
        session = account.session()
        account.services[Connectors].start()
        source.execute("CREATE TABLE items (id int PRIMARY KEY, tag text, body text)")
        source.execute("ALTER TABLE items ALTER COLUMN body SET STORAGE EXTERNAL")
        session.execute(create_statement("shop", wide_server, ["items"], "TARGET = MIRROR", "postgres"))
        in_state(session, "shop", "STREAMING")
        engine = account.services[Connectors].engine_pid(named(account, "SHOP").id)
        begun = time.monotonic()
        with source.transaction():
            # 10,240 bytes each.
            body = "repeat(md5(g::text), 320)"
            source.execute(f"INSERT INTO items SELECT g, 'new', {body} FROM generate_series(1, {_ROWS}) g".encode())
            source.execute("UPDATE items SET tag = 'changed' WHERE id % 2 = 0")
            source.execute("DELETE FROM items WHERE id % 10 = 0")
        committed = time.monotonic()
        caught_up(session, "shop", source, deadline=3000)
        landed = time.monotonic()
        own, its = peak_megabytes(os.getpid()), peak_megabytes(engine)
        expected = source.execute("SELECT id, tag, md5(body) FROM items ORDER BY id").fetchall()
        assert mirrored_rows(account) == expected
        assert standing(session, "shop")["dead_letters"] == 0
    with capsys.disabled():
        print(f"\n{_MEGABYTES} MB in one transaction: written in {committed - begun:.0f} s,", end=" ")
        print(f"landed {landed - committed:.0f} s later; peak memory: Snowmelt {own} MB, the engine {its} MB")
    assert its is None or its < _ENGINE_MEGABYTES
    assert own is None or own < _OWN_MEGABYTES


def mirrored_rows(account: Account) -> list[tuple[int, str, str]]:
    table = named(account, "ITEMS")
    assert isinstance(table.definition, TableDefinition)
    with account.state.read() as state:
        version = state.versions.visible(table.id)
    assert version is not None
    found = account.store.read(table.definition.location, version.version)
    columns = (found.column(name).to_pylist() for name in ("ID", "TAG", "BODY"))
    return sorted((id_, tag, hashlib.md5(body.encode()).hexdigest()) for id_, tag, body in zip(*columns, strict=True))


def named(account: Account, name: str) -> CatalogObject:
    with account.state.read() as state:
        return next(item for item in state.catalog.objects() if item.name.name == name)


def peak_megabytes(pid: int | None) -> int | None:
    if sys.platform != "linux" or pid is None:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found is not None else None
