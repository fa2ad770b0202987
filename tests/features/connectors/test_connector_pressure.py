"""A lake that is slower than its source, a log that grows, a snapshot and nothing else, orders through a table."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import caught_up, create_statement, in_state, mirrored, present, rows, standing
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]
_MIRROR = "TARGET = MIRROR SLOT_WARNING_MB = 1"


@pytest.fixture
def items(source: Source) -> Source:
    source.execute("CREATE TABLE items (id int PRIMARY KEY, body text)")
    source.execute("INSERT INTO items SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 100) g")
    return source


def grow(source: Source, first: int) -> None:
    """Some megabytes of log."""
    body = "repeat(md5(g::text), 10)"
    source.execute(f"INSERT INTO items SELECT g, {body} FROM generate_series({first}, {first + 9999}) g".encode())


def warned(session: Session, words: str) -> None:
    wait_until(lambda: words in (standing(session, "shop")["warning"] or ""), lambda: standing(session, "shop"))


def test_a_lake_that_is_slower_than_its_source(
    account: Account, captures: Session, server: EmbeddedPostgres, database: str, items: Source
) -> None:
    """The source waits: it keeps its log, of which the status warns, and nothing is lost when the lake goes on."""
    captures.execute(create_statement("shop", server, ["items"], _MIRROR, database))
    in_state(captures, "shop", "STREAMING")
    caught_up(captures, "shop", items)
    landed = standing(captures, "shop")["changes"]
    other = account.session(database=captures.database, schema=captures.schema)
    other.execute("BEGIN")
    other.execute("UPDATE items SET body = 'held' WHERE id = 1")
    for first in (1_000, 20_000, 40_000):
        grow(items, first)
    warned(captures, "Landing waits")
    warned(captures, "MB of its log")
    now = standing(captures, "shop")
    assert (now["state"], now["changes"]) == ("STREAMING", landed)
    assert now["slot_bytes"] > 1024 * 1024
    other.execute("ROLLBACK")
    other.close()
    caught_up(captures, "shop", items)
    assert mirrored(captures, "items") == present(items, "items")
    wait_until(lambda: standing(captures, "shop")["warning"] is None, lambda: standing(captures, "shop"))


def test_a_log_that_grows_while_nobody_reads(
    captures: Session, server: EmbeddedPostgres, database: str, items: Source
) -> None:
    """It is watched then too: that is when a disk fills."""
    captures.execute(create_statement("shop", server, ["items"], _MIRROR, database))
    in_state(captures, "shop", "STREAMING")
    captures.execute("ALTER CONNECTOR shop PAUSE")
    in_state(captures, "shop", "PAUSED")
    grow(items, 1_000)
    warned(captures, "MB of its log")
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "STREAMING")
    caught_up(captures, "shop", items)
    assert mirrored(captures, "items") == present(items, "items")


def test_a_snapshot_and_nothing_else(captures: Session, server: EmbeddedPostgres, database: str, items: Source) -> None:
    options = "TARGET = MIRROR SNAPSHOT_MODE = INITIAL_ONLY"
    captures.execute(create_statement("shop", server, ["items"], options, database))
    wait_until(lambda: standing(captures, "shop")["state"] == "COMPLETED", lambda: standing(captures, "shop"))
    expected = present(items, "items")
    items.execute("DELETE FROM items")
    assert mirrored(captures, "items") == expected


def test_orders_through_a_table_of_the_source(
    captures: Session, server: EmbeddedPostgres, database: str, items: Source
) -> None:
    """The check says how to make it; its rows are no changes."""
    options = "SNAPSHOT_MODE = NO_DATA SIGNAL_TABLE = 'orders_for_debezium' INITIALLY_PAUSED = TRUE"
    captures.execute(create_statement("shop", server, ["items"], options, database))
    lacking = {row[0]: row[3] for row in rows(captures, "ALTER CONNECTOR shop CHECK") if row[1] == "MISSING"}
    assert list(lacking) == ["signal table"]
    items.execute(lacking["signal table"].encode())
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "STREAMING")
    captures.execute("ALTER CONNECTOR shop SNAPSHOT")
    wait_until(lambda: standing(captures, "shop")["changes"] == 100, lambda: standing(captures, "shop"))
    found = rows(captures, "SELECT DISTINCT table_name, operation, snapshot FROM raw_changes")
    assert found == [("public.items", "READ", "incremental")]
