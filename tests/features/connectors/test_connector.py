"""A connector as its user sees it: a real PostgreSQL, a real Debezium, SQL on this side."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from snowmelt.runtime.session import Session
from tests.features.connectors.capture import Capture, in_state, rows, standing
from tests.support.waiting import wait_until

Source = psycopg.Connection[Any]


def test_every_change_is_a_row(captures: Session, capture: Capture, source: Source) -> None:
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, amount numeric(10, 2), placed date, extra jsonb)")
    source.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    source.execute("INSERT INTO orders VALUES (1, 1.50, '2024-02-29', '{\"a\": [1]}'), (2, NULL, NULL, NULL)")
    capture.create("shop", ["orders"])
    capture.wait_for_stream("shop")
    wait_until(lambda: standing(captures, "shop")["changes"] == 2, lambda: standing(captures, "shop"))
    source.execute("INSERT INTO orders VALUES (3, 3, NULL, NULL)")
    source.execute("UPDATE orders SET amount = 2 WHERE id = 2")
    source.execute("DELETE FROM orders WHERE id = 1")
    source.execute("TRUNCATE orders")
    wait_until(lambda: standing(captures, "shop")["changes"] == 6, lambda: standing(captures, "shop"))
    found = rows(
        captures,
        "SELECT operation, table_name, before:id::int, after:id::int, after:amount::number(10, 2), after IS NULL"
        " FROM raw_changes ORDER BY change_number",
    )
    assert [(row[0], *row[2:4], str(row[4]) if row[4] is not None else None, row[5]) for row in found] == [
        ("READ", None, 1, "1.50", False),
        ("READ", None, 2, None, False),
        ("INSERT", None, 3, "3.00", False),
        ("UPDATE", 2, 2, "2.00", False),
        ("DELETE", 1, None, None, True),
        ("TRUNCATE", None, None, None, True),
    ]
    assert {row[1] for row in found} == {"public.orders"}
    details = rows(
        captures,
        "SELECT after:placed::date::varchar, after:extra:a[0]::int, snapshot, ts_ms > 0, ingested_at IS NOT NULL"
        " FROM raw_changes WHERE operation = 'READ' AND after:id = 1",
    )
    assert details == [("2024-02-29", 1, "first", True, True)]


@pytest.mark.slow
def test_a_mirror_follows_its_source(captures: Session, capture: Capture, source: Source) -> None:
    source.execute("CREATE TABLE notes (id int PRIMARY KEY, title varchar(20), body text)")
    source.execute("INSERT INTO notes SELECT g, 't' || g, repeat('x', 10) FROM generate_series(1, 200) g")
    # Large and hard to compress: it is kept outside of the row, and not in the log of an update of other columns.
    large = "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 1000) g"
    source.execute(f"INSERT INTO notes VALUES (1000, 'large', ({large}))".encode())
    capture.create("shop", ["notes"], "TARGET = MIRROR")
    capture.wait_for_stream("shop")
    source.execute("UPDATE notes SET title = 'changed' WHERE id <= 10 OR id = 1000")
    source.execute("DELETE FROM notes WHERE id BETWEEN 11 AND 20")
    source.execute("UPDATE notes SET id = 5000 WHERE id = 21")
    capture.settle("shop", "notes")
    (lineage,) = json.loads(rows(captures, "SELECT SYSTEM$LINEAGE('notes.title')")[0][0])["edges"]
    assert (lineage["source"]["domain"], lineage["source"]["column"]) == ("EXTERNAL", "TITLE")

    captures.execute("ALTER CONNECTOR shop PAUSE")
    in_state(captures, "shop", "PAUSED")
    source.execute("ALTER TABLE notes ADD COLUMN stars int DEFAULT 3")
    source.execute("ALTER TABLE notes DROP COLUMN body")
    source.execute("ALTER TABLE notes ALTER COLUMN title TYPE varchar(200)")
    source.execute("UPDATE notes SET stars = 5, title = repeat('y', 100) WHERE id = 30")
    captures.execute("ALTER CONNECTOR shop RESUME")
    capture.settle("shop", "notes")

    # The first that a new engine hears of the table has no key.
    captures.execute("ALTER CONNECTOR shop PAUSE")
    in_state(captures, "shop", "PAUSED")
    source.execute("TRUNCATE notes")
    source.execute("INSERT INTO notes VALUES (1, 'again', 1)")
    captures.execute("ALTER CONNECTOR shop RESUME")
    capture.settle("shop", "notes")
    assert standing(captures, "shop")["dead_letters"] == 0


@pytest.mark.slow
def test_an_incremental_snapshot(captures: Session, capture: Capture, source: Source) -> None:
    """Rows from before the connector are read by order, beside the changes."""
    source.execute("CREATE TABLE items (id int PRIMARY KEY, body text)")
    source.execute("INSERT INTO items SELECT g, 'b' || g FROM generate_series(1, 5000) g")
    capture.create("shop", ["items"], "TARGET = MIRROR SNAPSHOT_MODE = NO_DATA")
    capture.wait_for_stream("shop")
    source.execute("UPDATE items SET body = 'changed' WHERE id = 1")
    captures.execute("ALTER CONNECTOR shop SNAPSHOT")
    source.execute("DELETE FROM items WHERE id = 2")
    wait_until(lambda: standing(captures, "shop")["changes"] >= 5000, lambda: standing(captures, "shop"))
    capture.settle("shop", "items")
