"""`snowmelt.connect`: PEP 249 in the process."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import snowmelt
from snowmelt.runtime.account import Account


@pytest.fixture
def connection(account: Account, tmp_path: Path) -> Iterator[snowmelt.Connection]:
    """A connection to an account of its own; `account` keeps Spark up meanwhile."""
    account.engine.session()
    with snowmelt.connect(tmp_path / "data") as opened:
        yield opened


def test_module_says_what_it_is() -> None:
    assert (snowmelt.apilevel, snowmelt.threadsafety, snowmelt.paramstyle) == ("2.0", 2, "qmark")


def test_values_come_back_as_python_types(connection: snowmelt.Connection) -> None:
    row = connection.execute(
        "SELECT 1, 1.50, 1.5::FLOAT, 'x', TRUE, NULL, '2026-01-31'::DATE, '2026-01-31 10:00:00'::TIMESTAMP_NTZ, "
        "'ab'::BINARY, PARSE_JSON('{\"a\":1}')"
    ).fetchone()
    assert row == (
        1, Decimal("1.50"), 1.5, "x", True, None, date(2026, 1, 31), datetime(2026, 1, 31, 10), b"\xab",
        '{\n  "a": 1\n}',
    )  # fmt: skip


def test_parameters_in_every_style(connection: snowmelt.Connection) -> None:
    connection.execute("CREATE TABLE t (id INT, name VARCHAR)")
    cursor = connection.cursor()
    cursor.execute("INSERT INTO t VALUES (?, ?)", [1, "O'Brien; DROP TABLE t -- \\"])
    cursor.execute("INSERT INTO t VALUES (%s, %s)", [2, "b"])
    cursor.execute("INSERT INTO t VALUES (%(id)s, %(name)s)", {"id": 3, "name": None})
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(4, "d"), (5, "e")])
    assert cursor.rowcount == 2
    rows = connection.execute("SELECT id, name FROM t WHERE id <> ? ORDER BY id", [5]).fetchall()
    assert rows == [(1, "O'Brien; DROP TABLE t -- \\"), (2, "b"), (3, None), (4, "d")]


def test_fetching_in_pieces_and_describing(connection: snowmelt.Connection) -> None:
    cursor = connection.execute("SELECT column1 AS n FROM VALUES (1), (2), (3) ORDER BY 1")
    assert cursor.description is not None
    assert cursor.description[0][0] == "N"
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany(1) == [(2,)]
    assert list(cursor) == [(3,)]
    assert cursor.fetchone() is None
    assert cursor.rowcount == 3
    assert cursor.fetch_arrow_table().column_names == ["N"]


def test_transactions(connection: snowmelt.Connection) -> None:
    connection.execute("CREATE TABLE t (id INT)")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO t VALUES (1)")
    connection.rollback()
    assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)


def test_errors_carry_code_and_state(connection: snowmelt.Connection) -> None:
    with pytest.raises(snowmelt.Error) as caught:
        connection.execute("SELECT * FROM nowhere")
    assert (caught.value.code, caught.value.sqlstate) == ("002003", "42S02")


def test_connections_share_one_account_and_threads_one_connection(
    account: Account, connection: snowmelt.Connection
) -> None:
    with snowmelt.connect(connection._data_dir) as other:
        assert other.session.account is connection.session.account
    connection.execute("CREATE TABLE t (id INT)")
    barrier = threading.Barrier(4)

    def insert(number: int) -> None:
        barrier.wait()
        connection.execute("INSERT INTO t VALUES (?)", [number])

    threads = [threading.Thread(target=insert, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert connection.execute("SELECT SUM(id), COUNT(*) FROM t").fetchone() == (6, 4)


EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("FLOAT", [9.5, -0.0, 1e-300, -1e300, math.inf, None, 4]),
        ("NUMBER(8, 2)", [4, 9.5, Decimal("-1.50"), Decimal("-1E-1")]),
        ("NUMBER(38, 0)", [10**30, -(10**37)]),
        ("BINARY", [b"\x01\xff", b"", bytearray(b"x")]),
        ("TIME", [time(1, 2, 3, 4), None]),
        ("TIMESTAMP_TZ", [datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=EAST)]),
        ("TIMESTAMP_NTZ", [datetime(2026, 1, 2, 3, 4, 5, 678)]),
        ("DATE", [date(2026, 1, 2)]),
        ("VARCHAR", ["it's \\ a\nline", "", "?", ":1"]),
        ("BOOLEAN", [True, False, None]),
    ],
)
def test_every_python_value_goes_in_and_comes_out(
    connection: snowmelt.Connection, type_: str, values: list[Any]
) -> None:
    connection.execute(f"CREATE OR REPLACE TABLE binds (n INT, a {type_})")
    connection.cursor().executemany("INSERT INTO binds VALUES (?, ?)", list(enumerate(values)))
    assert connection.execute("SELECT a FROM binds ORDER BY n").fetchall() == [(value,) for value in values]


def test_documents_go_in_as_variants(connection: snowmelt.Connection) -> None:
    connection.execute("CREATE OR REPLACE TABLE documents (n INT, v VARIANT)")
    given = [{"a": [1, None, "it's"]}, [1, 2], None]
    connection.cursor().executemany("INSERT INTO documents VALUES (?, ?)", list(enumerate(given)))
    found = connection.execute("SELECT v FROM documents ORDER BY n").fetchall()
    assert [value if value is None else json.loads(value) for (value,) in found] == given


def test_json_is_indented_as_the_session_asks(connection: snowmelt.Connection) -> None:
    query = """SELECT PARSE_JSON('{"b":[1,{}],"a":1.5}') AS v, [] AS a, TO_JSON(v), v::VARCHAR"""
    compact = '{"a":1.5,"b":[1,{}]}'
    shown = '{\n  "a": 1.5,\n  "b": [\n    1,\n    {}\n  ]\n}'
    assert connection.execute(query).fetchone() == (shown, "[]", compact, compact)
    assert connection.execute(query).fetch_arrow_table().column("V").to_pylist() == [shown]
    connection.execute("ALTER SESSION SET JSON_INDENT = 0")
    assert connection.execute(query).fetchone() == (compact, "[]", compact, compact)
    connection.execute("ALTER SESSION SET JSON_INDENT = 1")
    assert connection.execute(query).fetchone()[0] == shown.replace("  ", " ")  # type: ignore[index]
    for wrong in ("-1", "17", "'x'"):
        with pytest.raises(snowmelt.Error, match="JSON_INDENT"):
            connection.execute(f"ALTER SESSION SET JSON_INDENT = {wrong}")


def test_the_history_keeps_what_was_sent(connection: snowmelt.Connection) -> None:
    session = connection.session

    def last(count: int) -> list[str]:
        history = "TABLE(INFORMATION_SCHEMA.QUERY_HISTORY_BY_SESSION()) WHERE query_text NOT ILIKE '%query_history%'"
        rows = session.execute(f"SELECT query_text FROM {history} ORDER BY start_time DESC LIMIT {count}").rows()
        return [text for (text,) in reversed(rows)]

    commented = "-- before\nSELECT 1 AS a -- behind\n;  /* the end */"
    connection.execute(commented)
    assert last(1) == [commented]
    session.execute_script("/* one */ SELECT 1; -- of two\nSELECT 2 -- two\n; -- last")
    assert last(2) == ["/* one */ SELECT 1", "-- of two\nSELECT 2 -- two\n; -- last"]
    connection.execute("CREATE TABLE sent (n INT, word VARCHAR)")
    cursor = connection.execute("INSERT INTO sent VALUES (?, ?) -- bound", [1, "a"])
    cursor.executemany("INSERT INTO sent VALUES (?, ?) /* many */", [(2, "b"), (3, "c")])
    assert last(2) == ["INSERT INTO sent VALUES (?, ?) -- bound", "INSERT INTO sent VALUES (?, ?) /* many */"]
    assert connection.execute("SELECT n FROM sent").fetchall() == [(1,), (2,), (3,)]
    with pytest.raises(snowmelt.Error):
        connection.execute("/* wrong */ SELEC 1 -- indeed")
    assert last(1) == ["/* wrong */ SELEC 1 -- indeed"]


@pytest.mark.parametrize("query", ["SELECT a FROM t", "SELECT UUID_STRING() FROM t"], ids=["quick", "spark"])
def test_a_program_that_closes_nothing_ends_without_a_word(tmp_path: Path, query: str) -> None:
    program = (
        f"import snowmelt; c = snowmelt.connect({str(tmp_path)!r}); c.execute('CREATE TABLE t (a INT)');"
        f"c.execute('INSERT INTO t VALUES (1)'); print(len(c.execute({query!r}).fetchall()));"
        "c.execute('BEGIN'); c.execute('INSERT INTO t VALUES (2)')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    with snowmelt.connect(tmp_path) as again:
        assert again.execute("SELECT a FROM t").fetchall() == [(1,)]
