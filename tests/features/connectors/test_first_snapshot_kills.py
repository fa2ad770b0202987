"""Killed anywhere in its first snapshot, a connector goes on: every change lands once, rows that are read included."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.connectors.service import Connectors
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.runtime.account import Account
from snowmelt.state.model import TableDefinition
from snowmelt.storage import variant
from tests.features.connectors.capture import caught_up, connect, create_statement, standing, write_load

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]
_TABLES = ("first", "second", "third")
_ROWS = 3000
_KILLS = (
    "connector-before-slot",
    "connector-after-slot",
    "connector-before-commit",
    "connector-after-commit",
    "connector-before-commit",
    "connector-after-commit",
    "connector-after-commit:2",
)


@pytest.fixture
def shop() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(LOGICAL_REPLICATION) as server:
        with connect(server) as source:
            for table in _TABLES:
                source.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, version int NOT NULL)".encode())
                source.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, {_ROWS}) g".encode())
        yield server


def change(source: Source, turn: int, writer: int = 1) -> None:
    """A transaction over all tables: rows change, come and go. It is open for a while, beside another writer's."""
    chosen = random.Random(turn * writer)
    with source.transaction():
        for table in _TABLES:
            low = chosen.randint(1, _ROWS)
            update = f"UPDATE {table} SET version = version + 1 WHERE id BETWEEN {low} AND {low + 20}"
            source.execute(update.encode())
            if turn % 3 == 0:
                source.execute(f"DELETE FROM {table} WHERE id = {low}".encode())
                source.execute(f"INSERT INTO {table} VALUES ({writer * 1_000_000 + turn}, 0)".encode())
        source.execute(f"SELECT pg_sleep({chosen.random() / 20})".encode())


def test_killed_at_every_step(shop: EmbeddedPostgres, tmp_path: Path) -> None:
    with open_account(tmp_path, settings=Settings()) as account:
        session = account.session()
        session.execute(create_statement("raw", shop, list(_TABLES), "", "postgres"))
        session.execute(create_statement("mirror", shop, list(_TABLES), "TARGET = MIRROR", "postgres"))
    with (
        write_load(shop, "postgres", change),
        write_load(shop, "postgres", lambda source, turn: change(source, turn, 2)),
    ):
        for place in _KILLS:
            run_until_killed(tmp_path, place)
        with open_account(tmp_path, settings=Settings()) as account, connect(shop) as source:
            account.services[Connectors].start()
            for name in ("raw", "mirror"):
                caught_up(account.session(), name, source, deadline=600)
    with open_account(tmp_path, settings=Settings()) as account, connect(shop) as source:
        account.services[Connectors].start()
        session = account.session()
        for name in ("raw", "mirror"):
            caught_up(session, name, source, deadline=600)
            now = standing(session, name)
            assert (now["dead_letters"], now["snapshot_by"]) == (0, "Snowmelt")
        for table in _TABLES:
            expected = dict(source.execute(f"SELECT id, version FROM {table}".encode()).fetchall())
            assert mirrored(account, table.upper()) == expected
            assert replayed(account, f"public.{table}") == expected


def run_until_killed(data: Path, place: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."]), "SNOWMELT_TEST_KILL_AT": place}
    child = [sys.executable, "-m", "tests.features.connectors.child", str(data)]
    assert subprocess.run(child, env=environment, stdout=subprocess.DEVNULL, timeout=300, check=False).returncode == -9


def stored(account: Account, name: str) -> list[dict[str, Any]]:
    with account.state.read() as state:
        table = next(item for item in state.catalog.objects() if item.name.name == name)
        version = state.versions.visible(table.id)
    assert isinstance(table.definition, TableDefinition) and version is not None
    rows: list[dict[str, Any]] = account.store.read(table.definition.location, version.version).to_pylist()
    return rows


def mirrored(account: Account, name: str) -> dict[int, int]:
    rows = stored(account, name)
    found = {row["ID"]: row["VERSION"] for row in rows}
    assert len(found) == len(rows)
    return found


def replayed(account: Account, table: str) -> dict[int, int]:
    """What the raw table's changes amount to, each of which must follow from the one before."""
    found: dict[int, int] = {}
    seen: defaultdict[int, list[str]] = defaultdict(list)
    for row in sorted(stored(account, "RAW_CHANGES"), key=lambda row: int(row["CHANGE_NUMBER"])):
        if row["TABLE_NAME"] != table:
            continue
        id_ = document(row["RECORD_KEY"])["id"]
        seen[id_].append(f"{row['OPERATION']} {document(row['AFTER'])}")
        match row["OPERATION"]:
            case "READ" | "INSERT":
                assert id_ not in found, seen[id_]
                found[id_] = document(row["AFTER"])["version"]
            case "UPDATE":
                found[id_] += 1
                assert found[id_] == document(row["AFTER"])["version"], seen[id_]
            case "DELETE":
                assert id_ in found, seen[id_]
                del found[id_]
            case other:
                raise AssertionError(other)
    return found


def document(value: dict[str, bytes] | None) -> Any:
    return None if value is None else variant.decode(value["metadata"], value["value"])
