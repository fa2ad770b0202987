"""What a connector does when its source is not as one would like it, with a real source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import caught_up, create_statement, in_state, rows, standing
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]


def test_a_lost_slot(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> None:
    """Changes are missing: it says so. Told to read everything anew, the mirror loses what is gone meanwhile."""
    source.execute("CREATE TABLE items (id int PRIMARY KEY, body text)")
    source.execute("INSERT INTO items SELECT g, 'b' FROM generate_series(1, 50) g")
    captures.execute(create_statement("shop", server, ["items"], "TARGET = MIRROR", database))
    in_state(captures, "shop", "STREAMING")
    captures.execute("ALTER CONNECTOR shop PAUSE")
    wait_until(lambda: dropped_slot(source), "the engine lets the slot go")
    source.execute("DELETE FROM items WHERE id <= 10")
    source.execute("UPDATE items SET body = 'new' WHERE id = 20")
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "FAILED")
    assert "WHEN_NEEDED" in standing(captures, "shop")["error"]
    assert len(rows(captures, "SELECT id FROM items")) == 50
    captures.execute("ALTER CONNECTOR shop SET SNAPSHOT_MODE = WHEN_NEEDED")
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "STREAMING")
    expected = source.execute("SELECT id, body FROM items ORDER BY id").fetchall()
    assert rows(captures, "SELECT id, body FROM items ORDER BY id") == expected


def dropped_slot(source: Source) -> bool:
    found = source.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active AND database ="
        " current_database()"
    ).fetchall()
    return len(found) == 1


def test_dead_letters(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> None:
    """A table without a key can't be mirrored, which keeps nobody else from it."""
    source.execute("CREATE TABLE keyless (body text)")
    source.execute("ALTER TABLE keyless REPLICA IDENTITY FULL")
    source.execute("CREATE TABLE items (id int PRIMARY KEY)")
    captures.execute(create_statement("shop", server, ["keyless", "items"], "TARGET = MIRROR", database))
    in_state(captures, "shop", "STREAMING")
    source.execute("INSERT INTO keyless VALUES ('lost')")
    source.execute("INSERT INTO items VALUES (1)")
    wait_until(lambda: standing(captures, "shop")["changes"] == 1, lambda: standing(captures, "shop"))
    assert rows(captures, "SELECT id FROM items") == [(1,)]
    letters = rows(captures, "SELECT reason, PARSE_JSON(record):after:body::varchar FROM shop_dead_letters")
    assert letters == [(letters[0][0], "lost")]
    assert "primary key" in letters[0][0]


def test_soft_deletes(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> None:
    source.execute("CREATE TABLE items (id int PRIMARY KEY, body text)")
    source.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    captures.execute(create_statement("shop", server, ["items"], "TARGET = MIRROR DELETES = SOFT", database))
    in_state(captures, "shop", "STREAMING")
    source.execute("DELETE FROM items WHERE id < 3")
    source.execute("INSERT INTO items VALUES (2, 'again')")
    caught_up(captures, "shop", source)
    found = rows(captures, "SELECT id, body, _snowmelt_deleted FROM items ORDER BY id")
    assert found == [(1, "a", True), (2, "again", False), (3, "c", False)]
    source.execute("TRUNCATE items")
    caught_up(captures, "shop", source)
    assert rows(captures, "SELECT DISTINCT _snowmelt_deleted FROM items") == [(True,)]


def test_what_a_source_lacks(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> None:
    """The check says it, with the SQL that mends it."""
    source.execute("CREATE SCHEMA private")
    source.execute("CREATE TABLE private.items (body text)")
    source.execute("DROP ROLE IF EXISTS reader")
    source.execute("CREATE ROLE reader LOGIN")
    statement = create_statement("shop", server, ["private.items"], "INITIALLY_PAUSED = TRUE", database)
    captures.execute(statement.replace("'postgres' TABLES", "'reader' TABLES"))
    lacking = missing(captures)
    assert set(lacking) == {"replication privilege", "table private.items", "replica identity of private.items",
                            "publication"}  # fmt: skip
    for _ in range(3):  # one may hide another
        for remedy in missing(captures).values():
            source.execute(remedy.encode())
    assert missing(captures) == {}


def missing(session: Session) -> dict[str, str]:
    return {row[0]: row[3] for row in rows(session, "ALTER CONNECTOR shop CHECK") if row[1] == "MISSING"}


def test_a_source_that_is_not_there(captures: Session, server: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    """It is tried again and again, and a secret is in no answer."""
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    secret.chmod(0o600)
    options = f"SECRET_FILE = '{secret}'"
    statement = create_statement("shop", server, ["items"], options, database).replace(str(server.port), "1")
    captures.execute(statement)
    in_state(captures, "shop", "RETRYING")
    shown = [str(row) for row in captures.execute("SHOW CONNECTORS").rows()]
    shown += [str(row) for row in captures.execute("SELECT GET_DDL('CONNECTOR', 'shop')").rows()]
    assert "hunter2" not in "".join(shown)
    os.environ.pop("SNOWMELT_NO_SUCH_SECRET", None)
    captures.execute("ALTER CONNECTOR shop SET PASSWORD_ENV = 'SNOWMELT_NO_SUCH_SECRET'")
    in_state(captures, "shop", "FAILED")
    assert "SNOWMELT_NO_SUCH_SECRET" in standing(captures, "shop")["error"]
