"""Who reads the first snapshot, in how many parts, and what happens when it is stopped or taken once more."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.ingest.cdc.quick import reading, tables
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import (
    caught_up,
    connect,
    create_statement,
    in_state,
    mirrored,
    present,
    rows,
    standing,
)
from tests.support.waiting import wait_until

Source = psycopg.Connection[Any]
_ONLY_ROWS = "SNAPSHOT_MODE = INITIAL_ONLY"


@pytest.fixture
def items(source: Source) -> Source:
    source.execute("CREATE TABLE items (id int PRIMARY KEY, body text)")
    source.execute("INSERT INTO items SELECT g, 'body ' || g FROM generate_series(1, 5000) g")
    source.execute("DELETE FROM items WHERE id BETWEEN 2000 AND 3000")
    return source


def completed(session: Session, name: str) -> dict[str, Any]:
    wait_until(lambda: standing(session, name)["state"] == "COMPLETED", lambda: standing(session, name))
    return standing(session, name)


def test_in_many_parts(
    captures: Session, server: EmbeddedPostgres, database: str, items: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of one page each, in files of a few rows: all rows once, in mirrors and in raw tables."""
    monkeypatch.setattr(tables, "_CHUNK_PAGES", 1)
    monkeypatch.setattr(reading, "_PART_ROWS", 700)
    items.execute("CREATE TABLE empty (id int PRIMARY KEY, body text)")
    names = ["items", "empty"]
    captures.execute(create_statement("shop", server, names, f"TARGET = MIRROR {_ONLY_ROWS}", database))
    captures.execute(create_statement("raw", server, names, _ONLY_ROWS, database))
    for name in ("shop", "raw"):
        now = completed(captures, name)
        assert (now["snapshot_by"], now["changes"], now["error"]) == ("Snowmelt", 3999, None)
    assert mirrored(captures, "items") == present(items, "items")
    assert mirrored(captures, "empty") == []
    read = rows(captures, "SELECT after:body::varchar, after:id::int FROM raw_changes")
    assert sorted(read, key=repr) == present(items, "items")
    numbers = rows(
        captures, "SELECT min(change_number), max(change_number), count(DISTINCT change_number) FROM raw_changes"
    )
    assert numbers == [(1, 3999, 3999)]
    marks = rows(captures, "SELECT snapshot, count(*) FROM raw_changes GROUP BY 1 ORDER BY 1")
    assert marks == [("first", 1), ("last_in_data_collection", 1), ("true", 3997)]


@pytest.mark.slow
def test_what_is_left_to_debezium(captures: Session, server: EmbeddedPostgres, database: str, items: Source) -> None:
    """It says why; nothing of the attempt is left."""
    items.execute("CREATE DOMAIN small AS int")
    items.execute("CREATE TABLE odd (id int PRIMARY KEY, size small)")
    items.execute("INSERT INTO odd VALUES (1, 2)")
    reasons = {
        "domain": (["items", "odd"], "", "public.odd.size is of the type small"),
        "asked": (["items"], "SNAPSHOT_READER = DEBEZIUM", "SNAPSHOT_READER is DEBEZIUM"),
        "hidden": (["items"], "PII = ('body' = 'HASH')", "columns are hidden by PII"),
    }
    for name, (names, options, reason) in reasons.items():
        mirror = f"{options} TARGET = MIRROR MIRROR_SCHEMA = {name} {_ONLY_ROWS}"
        home = captures.schema
        captures.execute(f"CREATE SCHEMA {name}")
        captures.execute(f"USE SCHEMA {home}")
        captures.execute(create_statement(name, server, names, mirror, database))
        assert completed(captures, name)["snapshot_by"] == f"Debezium: {reason}"
    assert rows(captures, "SELECT id, size FROM domain.odd") == [(1, 2)]
    assert rows(captures, "SELECT count(*) FROM domain.items") == [(3999,)]


@pytest.mark.slow
def test_paused_while_it_waits_for_the_source(
    captures: Session, server: EmbeddedPostgres, database: str, items: Source
) -> None:
    """A slot begins when those transactions have ended that run; a connector that waits for them can be paused."""
    with connect(server, database) as other, other.transaction():
        other.execute("INSERT INTO items VALUES (9000, 'late')")
        captures.execute(create_statement("shop", server, ["items"], "TARGET = MIRROR", database))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE_REPLICATION_SLOT%%'"
        wait_until(lambda: items.execute(waiting).fetchone() == (1,), lambda: standing(captures, "shop"))
        captures.execute("ALTER CONNECTOR shop PAUSE")
        wait_until(lambda: items.execute(waiting).fetchone() == (0,), "the statement ends")
        in_state(captures, "shop", "PAUSED")
    assert items.execute("SELECT count(*) FROM pg_replication_slots WHERE database = %s", [database]).fetchone() == (0,)
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "STREAMING")
    items.execute("UPDATE items SET body = 'changed' WHERE id < 10")
    caught_up(captures, "shop", items)
    assert mirrored(captures, "items") == present(items, "items")
    assert standing(captures, "shop")["snapshot_by"] == "Snowmelt"


@pytest.mark.slow
def test_taken_once_more(captures: Session, server: EmbeddedPostgres, database: str, items: Source) -> None:
    """A raw table says that its rows are gone before it has them again."""
    captures.execute(create_statement("shop", server, ["items"], "SNAPSHOT_MODE = WHEN_NEEDED", database))
    in_state(captures, "shop", "STREAMING")
    caught_up(captures, "shop", items)
    captures.execute("ALTER CONNECTOR shop PAUSE")
    dropped = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active AND database = %s"
    wait_until(lambda: len(items.execute(dropped, [database]).fetchall()) == 1, "the engine lets the slot go")
    items.execute("DELETE FROM items WHERE id > 1000")
    captures.execute("ALTER CONNECTOR shop RESUME")
    wait_until(lambda: standing(captures, "shop")["changes"] == 3999 + 1000, lambda: standing(captures, "shop"))
    found = rows(
        captures,
        "SELECT operation, snapshot = 'first', count(*), min(change_number), max(change_number) FROM raw_changes"
        " WHERE change_number > 3999 GROUP BY ALL ORDER BY 4",
    )
    assert found == [("TRUNCATE", True, 1, 4000, 4000), ("READ", True, 1, 4001, 4001), ("READ", False, 999, 4002, 5000)]
    assert standing(captures, "shop")["snapshot_by"] == "Snowmelt"
