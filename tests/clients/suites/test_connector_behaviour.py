"""What code that was written for Snowflake's connector relies on; both generations must show all of it."""

import contextlib
import datetime as dt
import decimal
import fnmatch
import gzip
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import snowflake.connector
from connection import DATABASE, connect
from snowflake.connector import ProgrammingError
from snowflake.connector.pandas_tools import write_pandas

VALUES = """
SELECT 1.50::NUMBER(10, 2) AS a, 12345678901234567890::NUMBER(38, 0) AS b, 1.5::FLOAT AS c, TRUE AS d, NULL AS e,
       '2024-01-31'::DATE AS f, '10:11:12.123456'::TIME AS g, '2024-01-31 10:00:00.123456'::TIMESTAMP_NTZ AS h,
       '1969-12-31 23:59:59.5'::TIMESTAMP_NTZ AS i, '2024-01-31 10:00:00 +0200'::TIMESTAMP_TZ AS j,
       '2024-07-31 10:00:00'::TIMESTAMP_LTZ AS k, PARSE_JSON('{"a": 1}') AS l, TO_BINARY('FF00', 'HEX') AS m,
       'it''s ☃' AS "mixed Case", -7 AS n
"""


GENERATION_4 = snowflake.connector.__version__.startswith("4.")
SLOW = """
SELECT MAX(HASH(a.x, b.x)) FROM (SELECT SEQ4() AS x FROM TABLE(GENERATOR(ROWCOUNT => 200000))) a,
                                (SELECT SEQ4() AS x FROM TABLE(GENERATOR(ROWCOUNT => 200000))) b
"""
"""Forty billion pairs: nobody waits for that."""


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    opened = connect()
    yield opened
    opened.close()


@pytest.fixture
def cursor(connection: Any) -> Any:
    return connection.cursor()


@pytest.fixture(scope="module")
def orders(connection: Any) -> str:
    connection.cursor().execute("CREATE OR REPLACE TABLE orders (id INT, who VARCHAR, at TIMESTAMP_NTZ)")
    connection.cursor().execute(
        "INSERT INTO orders VALUES (1, 'ada', '2024-01-01 10:00:00'), (2, 'grace', NULL), (3, NULL, NULL)"
    )
    return "orders"


def test_the_connection_knows_where_it_is(connection: Any, cursor: Any) -> None:
    row = cursor.execute("SELECT CURRENT_DATABASE(), CURRENT_SCHEMA(), CURRENT_WAREHOUSE(), CURRENT_USER()").fetchone()
    assert row == (DATABASE, "PUBLIC", "COMPUTE_WH", "ADMIN")
    cursor.execute("CREATE SCHEMA IF NOT EXISTS elsewhere")
    assert cursor.execute("SELECT CURRENT_SCHEMA()").fetchone() == ("ELSEWHERE",)
    if GENERATION_4:
        assert connection.schema == "ELSEWHERE"
    cursor.execute("USE SCHEMA PUBLIC")
    assert (connection.database, connection.schema) == (DATABASE, "PUBLIC")


@pytest.mark.parametrize("form", ["ARROW", "JSON"])
def test_every_type_arrives_alike_in_both_formats(form: str) -> None:
    with connect(session_parameters={"PYTHON_CONNECTOR_QUERY_RESULT_FORMAT": form, "TIMEZONE": "Europe/Berlin"}) as own:
        row = own.cursor().execute(VALUES).fetchone()
    summer = dt.timezone(dt.timedelta(hours=2))
    expected = (
        decimal.Decimal("1.50"), 12345678901234567890, 1.5, True, None, dt.date(2024, 1, 31),
        dt.time(10, 11, 12, 123456), dt.datetime(2024, 1, 31, 10, 0, 0, 123456),
        dt.datetime(1969, 12, 31, 23, 59, 59, 500000), dt.datetime(2024, 1, 31, 10, tzinfo=summer),
        dt.datetime(2024, 7, 31, 10, tzinfo=summer), '{\n  "a": 1\n}', b"\xff\x00", "it's ☃", -7,
    )  # fmt: skip
    assert tuple(bytes(value) if isinstance(value, bytearray) else value for value in row) == expected
    assert row[9].utcoffset() == row[10].utcoffset() == dt.timedelta(hours=2)


def test_description(cursor: Any) -> None:
    cursor.execute("SELECT 1::NUMBER(10, 2) AS a, 'x'::VARCHAR(20) AS \"b b\", CURRENT_DATE() AS c")
    described = [(column.name, column.type_code, column.precision, column.scale) for column in cursor.description]
    assert described == [("A", 0, 10, 2), ("b b", 2, None, None), ("C", 3, None, None)]
    assert [column.name for column in cursor.describe("SELECT 1 AS only_described")] == ["ONLY_DESCRIBED"]


def test_binds_in_both_styles(orders: str) -> None:
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, 123000)
    row = (7, "it's ? %s :1", moment)
    with connect() as pyformat:
        found = pyformat.cursor().execute("SELECT %s, %s, %s::TIMESTAMP_NTZ", row).fetchone()
        assert (found[0], found[1], found[2]) == row
        named = pyformat.cursor().execute("SELECT %(b)s, %(a)s", {"a": 1, "b": "x"}).fetchone()
        assert named == ("x", 1)
    with connect(paramstyle="qmark") as qmark:
        found = qmark.cursor().execute("SELECT ?, ?, ?", row).fetchone()
        assert (int(found[0]), found[1], found[2]) == row
        given = (None, True, 1.25, dt.date(2024, 2, 29), dt.time(1, 2, 3), b"\x01\xff", decimal.Decimal("1.10"))
        found = qmark.cursor().execute("SELECT ?, ?, ?, ?, ?, ?, ?", given).fetchone()
        assert [bytes(v) if isinstance(v, bytearray) else v for v in found] == [*given]
    with connect(paramstyle="numeric") as numeric:
        assert numeric.cursor().execute("SELECT :2, :1", ("a", "b")).fetchone() == ("b", "a")


@pytest.mark.parametrize(
    ("style", "marks"), [("qmark", "(?, ?, ?)"), ("numeric", "(:1, :2, :3)"), ("pyformat", "(%s, %s, %s)")]
)
def test_executemany(style: str, marks: str) -> None:
    rows = [(number, f"name {number}", dt.datetime(2024, 1, 1) if number % 2 else None) for number in range(300)]
    with connect(paramstyle=style) as own:
        cursor = own.cursor()
        cursor.execute(f"CREATE OR REPLACE TABLE many_{style} (id INT, name VARCHAR, at TIMESTAMP_NTZ)")
        cursor.executemany(f"INSERT INTO many_{style} VALUES {marks}", rows)
        assert cursor.rowcount == 300
        assert cursor.execute(f"SELECT * FROM many_{style} ORDER BY id").fetchall() == rows


def test_changes_are_counted(cursor: Any) -> None:
    cursor.execute("CREATE OR REPLACE TABLE counted (id INT)")
    assert cursor.execute("INSERT INTO counted VALUES (1), (2), (3)").rowcount == 3
    assert cursor.execute("UPDATE counted SET id = id + 10 WHERE id > 1").rowcount == 2
    assert cursor.execute("DELETE FROM counted WHERE id = 1").rowcount == 1
    merged = "MERGE INTO counted USING (SELECT 12 AS id) s ON counted.id = s.id WHEN MATCHED THEN DELETE"
    assert cursor.execute(merged).rowcount == 1


def test_transactions(connection: Any, cursor: Any) -> None:
    cursor.execute("CREATE OR REPLACE TABLE kept (id INT)")
    cursor.execute("BEGIN")
    cursor.execute("INSERT INTO kept VALUES (1)")
    connection.rollback()
    assert cursor.execute("SELECT COUNT(*) FROM kept").fetchone() == (0,)
    with connect(autocommit=False) as own:
        own.cursor().execute("INSERT INTO kept VALUES (2)")
        assert cursor.execute("SELECT COUNT(*) FROM kept").fetchone() == (0,)
        own.commit()
    assert cursor.execute("SELECT id FROM kept").fetchall() == [(2,)]


def test_fetching_in_batches(cursor: Any, orders: str) -> None:
    cursor.execute(f"SELECT id FROM {orders} ORDER BY id")
    assert cursor.fetchmany(2) == [(1,), (2,)]
    assert cursor.fetchone() == (3,)
    assert cursor.fetchone() is None
    assert [row[0] for row in cursor.execute(f"SELECT id FROM {orders} ORDER BY id")] == [1, 2, 3]


@pytest.mark.parametrize("form", ["ARROW", "JSON"])
def test_a_large_result_comes_in_parts(form: str) -> None:
    query = (
        "SELECT SEQ4() AS id, REPEAT('x', 100) || SEQ4() AS text FROM TABLE(GENERATOR(ROWCOUNT => 60000)) ORDER BY 1"
    )
    with connect(session_parameters={"PYTHON_CONNECTOR_QUERY_RESULT_FORMAT": form}) as own:
        cursor = own.cursor().execute(query)
        assert cursor.rowcount == 60000
        rows = cursor.fetchall()
    assert [row[0] for row in rows] == list(range(60000))
    assert rows[-1][1] == "x" * 100 + "59999"


def test_arrow_and_pandas(cursor: Any, orders: str) -> None:
    frame = cursor.execute(f"SELECT id, who, at FROM {orders} ORDER BY id").fetch_pandas_all()
    assert list(frame.columns) == ["ID", "WHO", "AT"]
    assert frame["ID"].tolist() == [1, 2, 3]
    assert frame["AT"][0] == pd.Timestamp("2024-01-01 10:00:00")
    table = cursor.execute(f"SELECT id FROM {orders} ORDER BY id").fetch_arrow_all()
    assert table.column("ID").to_pylist() == [1, 2, 3]
    cursor.execute("SELECT SEQ4() AS id FROM TABLE(GENERATOR(ROWCOUNT => 100000))")
    assert sum(len(batch) for batch in cursor.fetch_pandas_batches()) == 100000
    empty = cursor.execute(f"SELECT id FROM {orders} WHERE id < 0")
    assert empty.fetchall() == []


def test_write_pandas(connection: Any, cursor: Any) -> None:
    frame = pd.DataFrame({"ID": [1, 2], "NAME": ["a", "b"], "RATIO": [0.5, None]})
    done = write_pandas(connection, frame, "FROM_PANDAS", auto_create_table=True, overwrite=True)
    assert done[0] is True or done.success is True
    found = cursor.execute("SELECT id, name, ratio FROM from_pandas ORDER BY id").fetchall()
    assert found == [(1, "a", 0.5), (2, "b", None)]


def test_files_through_a_stage(cursor: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for name, text in (("a.csv", "1,one\n"), ("b.csv", "2,two\n3,\n")):
        (tmp_path / "in" / name).write_text(text)
    cursor.execute("CREATE OR REPLACE STAGE files")
    cursor.execute("CREATE OR REPLACE TABLE from_files (id INT, word VARCHAR)")
    put = cursor.execute(f"PUT file://{tmp_path}/in/a.csv @files/day").fetchall()
    assert (put[0][0], put[0][1], put[0][6]) == ("a.csv", "a.csv.gz", "UPLOADED")
    put = cursor.execute(f"PUT 'file://{tmp_path}/in/*.csv' @files/all AUTO_COMPRESS = FALSE").fetchall()
    assert sorted((row[1], row[6]) for row in put) == [("a.csv", "UPLOADED"), ("b.csv", "UPLOADED")]
    names = [row[0] for row in cursor.execute("LIST @files").fetchall()]
    assert names == ["files/all/a.csv", "files/all/b.csv", "files/day/a.csv.gz"]
    copied = cursor.execute("COPY INTO from_files FROM @files/all FILE_FORMAT = (TYPE = CSV)").fetchall()
    assert sorted((row[1], row[3]) for row in copied) == [("LOADED", 1), ("LOADED", 2)]
    assert cursor.execute("SELECT * FROM from_files ORDER BY id").fetchall() == [(1, "one"), (2, "two"), (3, None)]
    cursor.execute(
        "COPY INTO @files/unloaded/ FROM from_files FILE_FORMAT = (TYPE = CSV COMPRESSION = NONE) SINGLE = TRUE"
    )
    cursor.execute(f"GET @files/all/b.csv file://{tmp_path}/out/")
    assert (tmp_path / "out" / "b.csv").read_text() == "2,two\n3,\n"


FILES = {f"part{number}.csv": f"{number},part{number}\n" for number in range(11)} | {"with a blank.csv": "99,blank\n"}


def told_and_there(cursor: Any, put: str) -> list[str]:
    """Puts files; what the client was told is what lies in the stage, and COPY loads all of it."""
    cursor.execute("CREATE OR REPLACE STAGE parts FILE_FORMAT = (TYPE = CSV)")
    cursor.execute("CREATE OR REPLACE TABLE parts_loaded (id INT, word VARCHAR)")
    told = cursor.execute(put).fetchall()
    assert {row[6] for row in told} == {"UPLOADED"}
    names = sorted(row[1] for row in told)
    assert sorted(row[0] for row in cursor.execute("LIST @parts").fetchall()) == [f"parts/{name}" for name in names]
    copied = cursor.execute("COPY INTO parts_loaded FROM @parts").fetchall()
    assert sorted((row[0], row[1]) for row in copied) == [(f"parts/{name}", "LOADED") for name in names]
    loaded = cursor.execute("SELECT id, word FROM parts_loaded").fetchall()
    assert sorted(f"{id_},{word}\n" for id_, word in loaded) == sorted(FILES[row[0]] for row in told)
    return names


@pytest.mark.parametrize("options", ["", "AUTO_COMPRESS = FALSE", "OVERWRITE = TRUE PARALLEL = 8"])
@pytest.mark.parametrize("pattern", ["*.csv", "part3.csv", "with a blank.csv"])
def test_a_file_has_the_name_that_the_client_was_told(cursor: Any, tmp_path: Path, options: str, pattern: str) -> None:
    """Many files, more than a client sends side by side, and single ones: none is lost or under the name of another."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    names = told_and_there(cursor, f"PUT 'file://{tmp_path}/{pattern}' @parts {options}")
    ending = "" if "FALSE" in options else ".gz"
    assert names == sorted(f"{name}{ending}" for name in FILES if fnmatch.fnmatch(name, pattern))


@pytest.mark.parametrize(
    "options", ["", "AUTO_COMPRESS = FALSE", "SOURCE_COMPRESSION = NONE", "SOURCE_COMPRESSION = GZIP"]
)
@pytest.mark.parametrize("name", ["hidden.csv", "open.csv.gz", "*"])
def test_compressed_files_have_the_name_that_the_client_was_told(
    cursor: Any, tmp_path: Path, options: str, name: str
) -> None:
    """Whatever a file is called and whatever it is: clients do not agree on what to compress, but on what they say."""
    packed = gzip.compress(b"1,a\n")
    contents = {"plain.csv": b"1,a\n", "hidden.csv": packed, "open.csv.gz": packed, "lie.csv.gz": b"1,a\n"}
    for file, content in contents.items():
        (tmp_path / file).write_bytes(content)
    cursor.execute("CREATE OR REPLACE STAGE packed")
    told = cursor.execute(f"PUT 'file://{tmp_path}/{name}' @packed {options}").fetchall()
    assert {row[6] for row in told} == {"UPLOADED"}
    there = [row[0] for row in cursor.execute("LIST @packed").fetchall()]
    assert there == sorted(f"packed/{row[1]}" for row in told)


def test_asynchronous_queries(connection: Any, cursor: Any) -> None:
    cursor.execute_async("SELECT COUNT(*) AS n FROM TABLE(GENERATOR(ROWCOUNT => 1000))")
    query_id = cursor.sfqid
    deadline = time.monotonic() + 600
    while connection.is_still_running(connection.get_query_status_throw_if_error(query_id)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    cursor.get_results_from_sfqid(query_id)
    assert cursor.fetchall() == [(1000,)]
    cursor.execute_async("SELECT * FROM does_not_exist")
    failed = cursor.sfqid
    while connection.is_still_running(connection.get_query_status(failed)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert connection.is_an_error(connection.get_query_status(failed))


def test_several_statements(connection: Any, cursor: Any) -> None:
    cursor.execute("SELECT 1 AS a; CREATE OR REPLACE TABLE one_of_many (id INT); SELECT 'x' AS b", num_statements=3)
    found = [cursor.fetchall()]
    while cursor.nextset():
        found.append(cursor.fetchall())
    assert found == [[(1,)], [("Table ONE_OF_MANY successfully created.",)], [("x",)]]
    with pytest.raises(ProgrammingError, match="did not match the desired statement count"):
        cursor.execute("SELECT 1; SELECT 2")
    done = [last.fetchall() for last in connection.execute_string("SELECT 1; -- one\nSELECT 2;")]
    assert done == [[(1,)], [(2,)]]


def test_errors_carry_code_state_and_query(cursor: Any) -> None:
    with pytest.raises(ProgrammingError) as raised:
        cursor.execute("SELECT * FROM nowhere")
    assert (raised.value.errno, raised.value.sqlstate) == (2003, "42S02")
    assert uuid.UUID(raised.value.sfqid)
    assert "002003 (42S02)" in str(raised.value) and "does not exist or not authorized" in str(raised.value)
    with pytest.raises(ProgrammingError, match="syntax error"):
        cursor.execute("SELEC 1")


def test_a_wrong_password_is_refused() -> None:
    with pytest.raises(snowflake.connector.Error, match="Incorrect username or password"):
        connect(password="wrong", login_timeout=60)


def test_cancelling_stops_the_statement(connection: Any) -> None:
    with connect() as own:
        cursor = own.cursor()
        cursor.execute_async(SLOW)
        query_id = cursor.sfqid
        deadline = time.monotonic() + 600
        while own.is_still_running(own.get_query_status(query_id)):
            assert time.monotonic() < deadline
            # It may not have begun yet, and what does not run can't be cancelled.
            with contextlib.suppress(ProgrammingError):
                connection.cursor().execute(f"SELECT SYSTEM$CANCEL_QUERY('{query_id}')")
            time.sleep(0.2)
        assert own.is_an_error(own.get_query_status(query_id))


@pytest.mark.skipif(not GENERATION_4, reason="connector 5.2 sends nothing when the time is over, and waits on")
def test_a_time_limit_of_the_client(cursor: Any) -> None:
    with pytest.raises(snowflake.connector.Error, match=r"000604|cancel"):
        cursor.execute(SLOW, timeout=2)
    assert cursor.execute("SELECT 1").fetchone() == (1,)


def test_parameters_tags_and_history(cursor: Any) -> None:
    cursor.execute("ALTER SESSION SET QUERY_TAG = 'night run', TIMEZONE = 'America/New_York'")
    found = cursor.execute("SELECT '2024-01-01 00:00:00'::TIMESTAMP_LTZ").fetchone()[0]
    assert found.utcoffset() == dt.timedelta(hours=-5)
    tagged = cursor.sfqid
    cursor.execute("ALTER SESSION UNSET QUERY_TAG")
    cursor.execute("ALTER SESSION UNSET TIMEZONE")
    history = cursor.execute(
        "SELECT query_tag, UPPER(execution_status), rows_produced "
        "FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY_BY_SESSION()) "
        f"WHERE query_id = '{tagged}'"
    ).fetchall()
    assert history == [("night run", "SUCCESS", 1)]


def test_the_history_keeps_what_was_sent(connection: Any) -> None:
    with connect(paramstyle="qmark") as own:
        cursor = own.cursor()
        sent = ["-- before\nSELECT 1 /* inside */ AS a -- behind", "SELECT ?::INT AS b -- bound"]
        ids = []
        for text, values in zip(sent, [None, (7,)], strict=True):
            cursor.execute(text, values)
            ids.append(cursor.sfqid)
        cursor.execute("SELECT 3; -- of two\nSELECT 4 -- four", num_statements=2)
        listed = "SELECT query_id, query_text FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY_BY_SESSION())"
        found = cursor.execute(listed).fetchall()
    texts = dict(found)
    assert [texts[query_id] for query_id in ids] == sent
    assert {"SELECT 3", "-- of two\nSELECT 4 -- four"} <= set(texts.values())


def test_results_again_by_id(cursor: Any, orders: str) -> None:
    cursor.execute(f"SELECT id FROM {orders} ORDER BY id")
    query_id = cursor.sfqid
    assert cursor.execute("SELECT LAST_QUERY_ID()").fetchone() == (query_id,)
    assert cursor.execute(f"SELECT COUNT(*) FROM TABLE(RESULT_SCAN('{query_id}'))").fetchone() == (3,)


def test_dict_cursor_and_show(connection: Any, orders: str) -> None:
    cursor = connection.cursor(snowflake.connector.DictCursor)
    assert cursor.execute(f"SELECT id, who FROM {orders} WHERE id = 1").fetchone() == {"ID": 1, "WHO": "ada"}
    shown = cursor.execute(f"SHOW TABLES LIKE '{orders}'").fetchall()
    assert [(row["name"], row["database_name"], row["rows"]) for row in shown] == [("ORDERS", DATABASE, 3)]


def test_a_connection_for_many_threads(orders: str) -> None:
    found: list[Any] = []
    with connect() as shared:

        def work(number: int) -> None:
            found.append(shared.cursor().execute(f"SELECT {number} + COUNT(*) FROM {orders}").fetchone()[0])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(600)
    assert sorted(found) == [number + 3 for number in range(8)]


def test_nothing_of_a_closed_connection_is_left() -> None:
    own = connect()
    own.cursor().execute("CREATE TEMPORARY TABLE passing (id INT)")
    own.close()
    with pytest.raises(snowflake.connector.Error):
        own.cursor().execute("SELECT 1")
    with connect() as other, pytest.raises(ProgrammingError, match="does not exist"):
        other.cursor().execute("SELECT * FROM passing")


@pytest.mark.skipif(not GENERATION_4, reason="generation 5 does not tell the server")
@pytest.mark.parametrize("what", ["database", "schema", "warehouse"])
def test_what_is_not_there_is_an_error_for_clients_that_want_one(what: str) -> None:
    missing = {what: "never_there"}
    connect(**missing).close()
    with pytest.raises(snowflake.connector.DatabaseError, match=f"requested {what} does not exist"):
        connect(**missing, validate_default_parameters=True)
    connect(warehouse="COMPUTE_WH", validate_default_parameters=True).close()
