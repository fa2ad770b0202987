"""A MariaDB through the same engine: operations, types, DDL, ordered snapshots, a lost log, what is lacking."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from snowmelt.runtime.session import Session
from snowmelt.state.ids import new_id
from tests.features.connectors.capture import in_state, rows, standing
from tests.features.connectors.mariadb_shop import PASSWORD_ENV, create_statement, execute, settled
from tests.support.mariadb_server import BINLOG, PASSWORD, MariaDbServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDbServer]:
    """In a time zone of its own, so that nobody takes it for UTC."""
    with MariaDbServer({**BINLOG, "default-time-zone": "+05:30"}) as running:
        yield running


@pytest.fixture
def database(server: MariaDbServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    name = f"shop_{new_id()}".lower()
    connection = server.connect()
    execute(connection, f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    connection.close()
    return name


@pytest.fixture
def source(server: MariaDbServer, database: str) -> Iterator[Any]:
    connection = server.connect(database)
    yield connection
    connection.close()


def changes(captures: Session, count: int) -> None:
    wait_until(lambda: standing(captures, "shop")["changes"] == count, lambda: standing(captures, "shop"))


def test_every_change_is_a_row(captures: Session, server: MariaDbServer, database: str, source: Any) -> None:
    execute(source, "CREATE TABLE orders (id int PRIMARY KEY, amount decimal(10, 2), placed date)")
    execute(source, "INSERT INTO orders VALUES (1, 1.50, '2024-02-29'), (2, NULL, NULL)")
    captures.execute(create_statement("shop", server, database, ["orders"], ""))
    in_state(captures, "shop", "STREAMING")
    changes(captures, 2)
    execute(source, "INSERT INTO orders VALUES (3, 3, NULL), (4, 4, NULL)")
    execute(source, "UPDATE orders SET amount = 2 WHERE id = 2")
    execute(source, "DELETE FROM orders WHERE id = 1")
    execute(source, "TRUNCATE orders")
    changes(captures, 7)
    found = rows(
        captures,
        "SELECT operation, table_name, before:id::int, after:id::int, after:amount::number(10, 2)::varchar,"
        " after:placed::date::varchar FROM raw_changes ORDER BY change_number",
    )
    assert [(row[0], *row[2:]) for row in found] == [
        ("READ", None, 1, "1.50", "2024-02-29"),
        ("READ", None, 2, None, None),
        ("INSERT", None, 3, "3.00", None),
        ("INSERT", None, 4, "4.00", None),
        ("UPDATE", 2, 2, "2.00", None),
        ("DELETE", 1, None, None, None),
        ("TRUNCATE", None, None, None, None),
    ]
    assert {row[1] for row in found} == {f"{database}.orders"}
    places = rows(captures, "SELECT source_lsn, source_sequence FROM raw_changes WHERE operation <> 'READ' ORDER BY 1")
    assert len({place for place, _ in places}) == 4, "two rows of one statement have one place"
    assert all(json.loads(sequence)[0].startswith("binlog.") for _, sequence in places)


@dataclass(frozen=True)
class Typed:
    """A type, values of it, and how both sides write one down so that they can be compared."""

    type: str
    values: tuple[str, ...]
    there: str = "cast({} AS char)"
    here: str = "{}::varchar"
    read: Callable[[str], Any] = str


_TYPES = [
    Typed("tinyint", ("-128", "127")),
    Typed("tinyint(1)", ("0", "1")),
    Typed("bool", ("true", "false")),
    Typed("smallint unsigned", ("65535",)),
    Typed("mediumint", ("-8388608",)),
    Typed("int", ("-2147483648", "2147483647")),
    Typed("int unsigned", ("4294967295",)),
    Typed("bigint", ("-9223372036854775808", "9223372036854775807")),
    Typed("bigint unsigned", ("18446744073709551615", "0")),
    Typed("decimal(10, 2)", ("-12345678.91", "0.10")),
    Typed("decimal(38, 10)", ("1234567890123456789012345678.0123456789",)),
    Typed("decimal(50, 3)", ("12345678901234567890123456789012345678901234567.125",)),
    Typed("float", ("1.5", "0.1"), read=float),
    Typed("double", ("0.1", "1.7976931348623157e308"), read=float),
    Typed("bit(1)", ("b'1'", "b'0'"), "if({}, 'true', 'false')"),
    Typed("bit(10)", ("b'101'",), "lpad(bin({}), 10, '0')"),
    Typed("date", ("'2024-02-29'", "'1000-01-01'", "'9999-12-31'")),
    Typed("datetime", ("'2024-02-29 10:11:12'", "'1000-01-01 00:00:00'"), "date_format({}, '%Y-%m-%d %H:%i:%s')",
          "to_varchar({}, 'YYYY-MM-DD HH24:MI:SS')"),
    Typed("datetime(6)", ("'2024-02-29 10:11:12.123456'", "'9999-12-31 23:59:59.999999'"),
          "date_format({}, '%Y-%m-%d %H:%i:%s.%f')", "to_varchar({}, 'YYYY-MM-DD HH24:MI:SS.FF6')"),
    Typed("timestamp(6) NULL", ("'2024-02-29 10:11:12.5'", "'1990-01-01 00:00:00'"),
          "date_format(convert_tz({}, '+05:30', '+00:00'), '%Y-%m-%d %H:%i:%s.%f')",
          "to_varchar(convert_timezone('UTC', {}), 'YYYY-MM-DD HH24:MI:SS.FF6')"),
    Typed("time", ("'10:11:12'", "'-838:59:59'", "'100:00:00'")),
    Typed("time(6)", ("'10:11:12.500001'",)),
    Typed("year", ("2024", "1901")),
    Typed("char(5)", ("'ab'",)),
    Typed("varchar(20)", ("'žluťoučký 🐎'", "''", "'tab\\tline\\n\"quoted\"'")),
    Typed("text", ("'long'",)),
    Typed("longtext", ("repeat('x', 100000)",)),
    Typed("enum('sad', 'happy')", ("'happy'",)),
    Typed("set('a', 'b', 'c')", ("'a,c'", "''")),
    Typed("json", ('\'{"b": [1, 2.5, null]}\'',), read=json.loads),
    Typed("binary(3)", ("x'00ff10'",), "lower(hex({}))", "lower(hex_encode({}))"),
    Typed("varbinary(10)", ("x'00ff'", "''"), "lower(hex({}))", "lower(hex_encode({}))"),
    Typed("blob", ("x'deadbeef'",), "lower(hex({}))", "lower(hex_encode({}))"),
    Typed("uuid", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",)),
]  # fmt: skip


def test_every_type(captures: Session, server: MariaDbServer, database: str, source: Any) -> None:
    """Once as rows that a snapshot reads, and once as changes."""
    columns = ", ".join(f"c{place} {typed.type}" for place, typed in enumerate(_TYPES))
    execute(source, f"CREATE TABLE everything (id int PRIMARY KEY, {columns})")
    most = max(len(typed.values) for typed in _TYPES)
    for turn in range(most):
        insert(source, turn, turn)
    captures.execute(create_statement("shop", server, database, ["everything"], "TARGET = MIRROR"))
    in_state(captures, "shop", "STREAMING")
    for turn in range(most):
        insert(source, 100 + turn, turn)
    execute(source, "INSERT INTO everything (id) VALUES (200)")
    changes(captures, 2 * most + 1)
    assert standing(captures, "shop")["dead_letters"] == 0, rows(captures, "SELECT reason FROM shop_dead_letters")
    wrong = {typed.type: found for place, typed in enumerate(_TYPES) if (found := differences(captures, source, place))}
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def insert(source: Any, id_: int, turn: int) -> None:
    values = ", ".join(typed.values[turn % len(typed.values)] for typed in _TYPES)
    execute(source, f"INSERT INTO everything VALUES ({id_}, {values})")


def differences(captures: Session, source: Any, place: int) -> list[tuple[Any, ...]]:
    """Of one column: id, what the source has, what is here."""
    typed, name = _TYPES[place], f"c{place}"
    there = dict(execute(source, f"SELECT id, {typed.there.format(name)} FROM everything WHERE {name} IS NOT NULL"))
    here = dict(rows(captures, f"SELECT id, {typed.here.format(name)} FROM everything WHERE {name} IS NOT NULL"))
    found = [(id_, there.get(id_), here.get(id_)) for id_ in there.keys() | here.keys()]
    return [item for item in found if None in item[1:] or typed.read(str(item[1])) != typed.read(str(item[2]))]


def test_a_mirror_follows_its_source(captures: Session, server: MariaDbServer, database: str, source: Any) -> None:
    """Columns that come, go and widen while it streams and while it is away."""
    execute(source, "CREATE TABLE notes (id int PRIMARY KEY, title varchar(20), body text)")
    execute(source, "INSERT INTO notes SELECT seq, concat('t', seq), 'x' FROM seq_1_to_200")
    captures.execute(create_statement("shop", server, database, ["notes"], "TARGET = MIRROR"))
    in_state(captures, "shop", "STREAMING")
    execute(source, "UPDATE notes SET title = 'changed' WHERE id <= 10")
    execute(source, "DELETE FROM notes WHERE id BETWEEN 11 AND 20")
    execute(source, "UPDATE notes SET id = 5000 WHERE id = 21")
    settled(captures, "shop", source, "notes")
    execute(source, "ALTER TABLE notes ADD COLUMN stars int DEFAULT 3, DROP COLUMN body")
    execute(source, "UPDATE notes SET stars = 5 WHERE id = 30")
    settled(captures, "shop", source, "notes")
    captures.execute("ALTER CONNECTOR shop PAUSE")
    in_state(captures, "shop", "PAUSED")
    execute(
        source,
        "ALTER TABLE notes MODIFY COLUMN title varchar(200), ADD COLUMN price decimal(6, 2) DEFAULT 1.25, "
        "ADD COLUMN extra json",
    )
    execute(source, "UPDATE notes SET title = repeat('y', 100) WHERE id = 30")
    captures.execute("ALTER CONNECTOR shop RESUME")
    settled(captures, "shop", source, "notes")
    execute(source, "TRUNCATE notes")
    execute(source, """INSERT INTO notes VALUES (1, 'again', 1, 2, '{"a": [1]}')""")
    settled(captures, "shop", source, "notes")
    assert standing(captures, "shop")["dead_letters"] == 0


def test_an_incremental_snapshot(captures: Session, server: MariaDbServer, database: str, source: Any) -> None:
    """Rows from before the connector are read by order, beside the changes."""
    execute(source, "CREATE TABLE items (id int PRIMARY KEY, body text)")
    execute(source, "INSERT INTO items SELECT seq, concat('b', seq) FROM seq_1_to_5000")
    options = "TARGET = MIRROR SNAPSHOT_MODE = NO_DATA"
    captures.execute(create_statement("shop", server, database, ["items"], options))
    in_state(captures, "shop", "STREAMING")
    execute(source, "UPDATE items SET body = 'changed' WHERE id = 1")
    changes(captures, 1)
    captures.execute("ALTER CONNECTOR shop SNAPSHOT")
    execute(source, "DELETE FROM items WHERE id = 2")
    wait_until(lambda: standing(captures, "shop")["changes"] >= 5000, lambda: standing(captures, "shop"))
    settled(captures, "shop", source, "items")


def test_a_log_that_is_gone(captures: Session, server: MariaDbServer, database: str, source: Any) -> None:
    """Changes are missing: it says so. Told to read everything anew, the mirror loses what is gone meanwhile."""
    execute(source, "CREATE TABLE items (id int PRIMARY KEY, body text)")
    execute(source, "INSERT INTO items SELECT seq, 'b' FROM seq_1_to_50")
    captures.execute(create_statement("shop", server, database, ["items"], "TARGET = MIRROR"))
    in_state(captures, "shop", "STREAMING")
    captures.execute("ALTER CONNECTOR shop PAUSE")
    in_state(captures, "shop", "PAUSED")
    execute(source, "DELETE FROM items WHERE id <= 10")
    execute(source, "FLUSH BINARY LOGS")
    newest = execute(source, "SHOW BINARY LOGS")[-1][0]
    wait_until(lambda: purged(source, newest), "the log is thrown away")
    execute(source, "UPDATE items SET body = 'new' WHERE id = 20")
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "FAILED")
    assert "WHEN_NEEDED" in standing(captures, "shop")["error"]
    captures.execute("ALTER CONNECTOR shop SET SNAPSHOT_MODE = WHEN_NEEDED")
    captures.execute("ALTER CONNECTOR shop RESUME")
    in_state(captures, "shop", "STREAMING")
    settled(captures, "shop", source, "items")


def purged(source: Any, newest: str) -> bool:
    """A file that somebody still reads stays."""
    execute(source, f"PURGE BINARY LOGS TO '{newest}'")
    return len(execute(source, "SHOW BINARY LOGS")) == 1


def test_what_a_source_lacks(captures: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check says it, with the SQL that mends it."""
    monkeypatch.setenv(PASSWORD_ENV, "reads")
    settings = {**BINLOG, "binlog-format": "MIXED", "binlog-row-image": "MINIMAL"}
    with MariaDbServer(settings) as server:
        source = server.connect()
        execute(source, "CREATE DATABASE shop")
        execute(source, "CREATE TABLE shop.items (id int PRIMARY KEY)")
        execute(source, "CREATE USER 'reader'@'%' IDENTIFIED BY 'reads'")
        execute(source, "GRANT USAGE ON *.* TO 'reader'@'%'")
        execute(source, "CREATE TABLE shop.other (id int)")
        execute(source, "GRANT SELECT ON shop.other TO 'reader'@'%'")
        statement = create_statement("shop", server, "shop", ["items"], "INITIALLY_PAUSED = TRUE")
        captures.execute(statement.replace("USER = 'admin'", "USER = 'reader'"))
        assert set(missing(captures)) == {
            "binlog_format", "binlog_row_image", "privilege REPLICATION SLAVE", "privilege REPLICATION CLIENT",
            "table shop.items",
        }  # fmt: skip
        for remedy in missing(captures).values():
            execute(source, remedy.partition(" --")[0])
        assert missing(captures) == {}
        source.close()


def missing(session: Session) -> dict[str, str]:
    return {row[0]: row[3] for row in rows(session, "ALTER CONNECTOR shop CHECK") if row[1] == "MISSING"}
