"""A connector as its user sees it: a real PostgreSQL, a real Debezium, SQL on this side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.service.account import Account
from snowmelt.service.session import Session
from tests.cdc.capture import METADATA, caught_up, create_statement, in_state, rows, standing, wait_until

Source = psycopg.Connection[Any]


@pytest.fixture
def captures(account: Account, session: Session) -> Iterator[Session]:
    """A session whose connectors run, and are gone at the end."""
    account.connectors.start()
    yield session
    for name in [row[1] for row in session.execute("SHOW CONNECTORS").rows()]:
        session.execute(f"ALTER CONNECTOR {name} PAUSE")
        session.execute(f"DROP CONNECTOR {name}")


def test_every_change_is_a_row(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> None:
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, amount numeric(10, 2), placed date, extra jsonb)")
    source.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    source.execute("INSERT INTO orders VALUES (1, 1.50, '2024-02-29', '{\"a\": [1]}'), (2, NULL, NULL, NULL)")
    captures.execute(create_statement("shop", server, ["orders"], "", database))
    in_state(captures, "shop", "STREAMING")
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
@pytest.mark.timeout(900)
def test_a_mirror_follows_its_source(
    captures: Session, account: Account, server: EmbeddedPostgres, database: str, source: Source
) -> None:
    source.execute("CREATE TABLE notes (id int PRIMARY KEY, title varchar(20), body text)")
    source.execute("INSERT INTO notes SELECT g, 't' || g, repeat('x', 10) FROM generate_series(1, 200) g")
    # Large and hard to compress: it is kept outside of the row, and not in the log of an update of other columns.
    large = "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 1000) g"
    source.execute(f"INSERT INTO notes VALUES (1000, 'large', ({large}))".encode())
    captures.execute(create_statement("shop", server, ["notes"], "TARGET = MIRROR", database))
    in_state(captures, "shop", "STREAMING")
    source.execute("UPDATE notes SET title = 'changed' WHERE id <= 10 OR id = 1000")
    source.execute("DELETE FROM notes WHERE id BETWEEN 11 AND 20")
    source.execute("UPDATE notes SET id = 5000 WHERE id = 21")
    caught_up(captures, "shop", source)
    assert mirrored(captures, "notes") == present(source, "notes")

    captures.execute("ALTER CONNECTOR shop PAUSE")
    in_state(captures, "shop", "PAUSED")
    source.execute("ALTER TABLE notes ADD COLUMN stars int DEFAULT 3")
    source.execute("ALTER TABLE notes DROP COLUMN body")
    source.execute("ALTER TABLE notes ALTER COLUMN title TYPE varchar(200)")
    source.execute("UPDATE notes SET stars = 5, title = repeat('y', 100) WHERE id = 30")
    captures.execute("ALTER CONNECTOR shop RESUME")
    caught_up(captures, "shop", source)
    assert mirrored(captures, "notes") == present(source, "notes")

    source.execute("TRUNCATE notes")
    source.execute("INSERT INTO notes VALUES (1, 'again', 1)")
    caught_up(captures, "shop", source)
    assert mirrored(captures, "notes") == present(source, "notes")
    assert standing(captures, "shop")["dead_letters"] == 0


def mirrored(session: Session, table: str) -> list[tuple[Any, ...]]:
    """The mirror's rows, its columns in the order of their names."""
    described = [row[0] for row in session.execute(f"DESCRIBE TABLE {table}").rows()]
    columns = sorted(name for name in described if name not in METADATA)
    return sorted(rows(session, f"SELECT {', '.join(columns)} FROM {table}"), key=repr)


def present(source: Source, table: str) -> list[tuple[Any, ...]]:
    found = source.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY upper(column_name)", [table]
    ).fetchall()
    columns = ", ".join(row[0] for row in found)
    return sorted(source.execute(f"SELECT {columns} FROM {table}".encode()).fetchall(), key=repr)
