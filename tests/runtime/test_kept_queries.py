"""Queries that come again are answered by what was kept of the first ones, and never by what no longer holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.engine.quick import lane
from snowmelt.runtime.account import Account
from snowmelt.runtime.query_shapes import shape_of, template
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition
from tests.conftest import SPARK


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Account]:
    with open_account(tmp_path, settings=Settings(spark=SPARK, quick=QuickSettings())) as account:
        session = account.session()
        session.execute("CREATE TABLE t (id INT, name VARCHAR, x NUMBER(10, 2))")
        values = ", ".join(f"({n}, 'name{n}', {n}.25)" for n in range(1, 31))
        session.execute(f"INSERT INTO t VALUES {values}, (31, NULL, NULL)")
        yield account


@pytest.fixture
def reader(quick: Account) -> Session:
    """A session whose queries by id are known."""
    session = quick.session()
    for number in (11, 12, 13):
        assert by_id(session, number) == [(number, f"name{number}")]
    return session


def by_id(session: Session, number: int | str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(f"SELECT id, name FROM t WHERE id = {number}").rows()]


def bound(session: Session, sql: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[tuple[object, ...]], int]:
    """The rows, and how often the statement was bound for them."""
    calls: list[object] = []
    inner = type(session.account.engine).to_arrow
    with monkeypatch.context() as patch:
        patch.setattr(
            type(session.account.engine), "to_arrow",
            lambda self, *given, **named: (calls.append(given), inner(self, *given, **named))[1],
        )  # fmt: skip
        rows = [tuple(row) for row in session.execute(sql).rows()]
    return rows, len(calls)


def test_another_value_needs_no_binding(reader: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bound(reader, "SELECT id, name FROM t WHERE id = 29", monkeypatch) == ([(29, "name29")], 0)
    assert bound(reader, "SELECT id, name FROM t WHERE id = 99", monkeypatch) == ([], 0)
    # One digit is another type of number.
    assert bound(reader, "SELECT id, name FROM t WHERE id = 5", monkeypatch) == ([(5, "name5")], 1)
    other = reader.account.session()
    assert bound(other, "SELECT id, name FROM t WHERE id = 14", monkeypatch) == ([(14, "name14")], 0)
    history = "SELECT execution_lane FROM TABLE(information_schema.query_history()) WHERE query_text ILIKE '%id = 29'"
    assert [row[0] for row in reader.execute(history).rows()][-1:] == ["QUICK"]


def asked(session: Session, sql: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[tuple[object, ...]], int]:
    """The rows, and how often DuckDB was asked for them."""
    calls: list[str] = []
    inner = lane._computed
    with monkeypatch.context() as patch:
        patch.setattr(lane, "_computed", lambda connection, text: (calls.append(text), inner(connection, text))[1])
        rows = [tuple(row) for row in session.execute(sql).rows()]
    return rows, len(calls)


def test_the_same_question_over_the_same_data_is_answered_once(
    reader: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT COUNT(*) AS n FROM t WHERE id < 15"
    for _ in range(2):
        assert asked(reader, sql, monkeypatch) == ([(14,)], 1)
    other = reader.account.session()
    for session in (reader, other):
        assert asked(session, sql, monkeypatch) == ([(14,)], 0)
    assert asked(other, "SELECT COUNT(*) AS n FROM t WHERE id < 16", monkeypatch) == ([(15,)], 1)
    history = "SELECT execution_lane, rows_produced FROM TABLE(information_schema.query_history()) WHERE query_text = "
    assert set(reader.execute(f"{history} '{sql}'").rows()) == {("QUICK", 1)}
    # Rows that changed, and changed back.
    other.execute("INSERT INTO t VALUES (0, 'new', 1)")
    assert asked(reader, sql, monkeypatch) == ([(15,)], 1)
    other.execute("DELETE FROM t WHERE id = 0")
    assert asked(reader, sql, monkeypatch) == ([(14,)], 1)
    # Whoever wants to have it computed each time says so.
    other.execute("ALTER SESSION SET USE_CACHED_RESULT = FALSE")
    for _ in range(3):
        assert asked(other, sql, monkeypatch) == ([(14,)], 1)
    # A table of that name and of these rows is another table.
    other.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS id")
    assert reader.execute(sql).rows() == [(1,)]


def test_an_answer_is_no_right(reader: Session) -> None:
    for statement in (
        "CREATE ROLE looks", "CREATE USER reads PASSWORD = 'Reads-some-rows-1' DEFAULT_ROLE = looks",
        "GRANT ROLE looks TO USER reads", "GRANT USAGE ON DATABASE snowmelt TO ROLE looks",
        "GRANT USAGE ON SCHEMA snowmelt.public TO ROLE looks", "GRANT USAGE ON WAREHOUSE compute_wh TO ROLE looks",
    ):  # fmt: skip
        reader.execute(statement)
    asks = reader.account.session(user="READS", role="LOOKS")
    for granted in (False, True, False):
        reader.execute(f"{'GRANT' if granted else 'REVOKE'} SELECT ON TABLE t {'TO' if granted else 'FROM'} ROLE looks")
        for _ in range(3):
            assert by_id(reader, 17) == [(17, "name17")]
            if granted:
                assert by_id(asks, 17) == [(17, "name17")]
            else:
                with pytest.raises(SnowmeltError):
                    by_id(asks, 17)


def test_words_and_several_values(reader: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT id FROM t WHERE name = '{}' AND id >= {} ORDER BY id LIMIT 3"
    for name, number in (("name11", 10), ("name12", 11)):
        reader.execute(sql.format(name, number))
    assert bound(reader, sql.format("name20", 19), monkeypatch) == ([(20,)], 0)
    assert bound(reader, sql.format("name20", 21), monkeypatch) == ([], 0)
    decimals = "SELECT id FROM t WHERE x > {} AND x < {}"
    for low, high in (("10.5", "11.75"), ("11.5", "12.75")):
        reader.execute(decimals.format(low, high))
    assert bound(reader, decimals.format("19.5", "20.75"), monkeypatch) == ([(20,)], 0)
    # What is printed as a column's name is no value.
    for number in (11, 12, 13):
        assert reader.execute(f"SELECT id = {number} FROM t LIMIT 1").columns[0].name == f"ID = {number}"


def test_new_rows_are_seen(reader: Session) -> None:
    writer = reader.account.session()
    writer.execute("INSERT INTO t VALUES (77, 'new', 1)")
    assert by_id(reader, 77) == [(77, "new")]
    writer.execute("UPDATE t SET name = 'other' WHERE id = 77")
    assert by_id(reader, 77) == [(77, "other")]
    writer.execute("DELETE FROM t WHERE id = 77")
    assert by_id(reader, 77) == []


def test_what_another_tool_wrote_is_seen(reader: Session) -> None:
    account = reader.account
    with account.state.read() as state:
        found = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", "T"), [ObjectKind.TABLE], None)
    assert found is not None and isinstance(found.definition, TableDefinition)
    rows = pa.table(
        {"ID": pa.array([88], pa.int64()), "NAME": ["outside"], "X": pa.array([None], pa.decimal128(10, 2))}
    )
    write_deltalake(account.store.root.uri_of(found.definition.location), rows, mode="append")
    assert by_id(reader, 88) == [(88, "outside")]


def test_a_transaction_sees_its_own_rows_alone(reader: Session) -> None:
    writer = reader.account.session()
    by_id(writer, 12)
    writer.execute("BEGIN")
    writer.execute("DELETE FROM t WHERE id = 12")
    assert by_id(writer, 12) == []
    assert by_id(reader, 12) == [(12, "name12")]
    writer.execute("ROLLBACK")
    assert by_id(writer, 12) == [(12, "name12")]


def test_a_changed_catalog_is_seen(reader: Session) -> None:
    reader.execute("ALTER TABLE t RENAME COLUMN name TO title")
    with pytest.raises(SnowmeltError, match="invalid identifier"):
        by_id(reader, 12)
    reader.execute("CREATE OR REPLACE TABLE t (id VARCHAR, name INT)")
    reader.execute("INSERT INTO t VALUES ('12', 1)")
    assert by_id(reader, 12) == [("12", 1)]


def test_a_temporary_table_hides_for_its_session_alone(reader: Session) -> None:
    own = reader.account.session()
    by_id(own, 12)
    own.execute("CREATE TEMPORARY TABLE t (id INT, name VARCHAR)")
    own.execute("INSERT INTO t VALUES (12, 'mine')")
    for _ in range(3):
        assert by_id(own, 12) == [(12, "mine")]
        assert by_id(reader, 12) == [(12, "name12")]


def test_rights_are_asked_for_each_time(reader: Session) -> None:
    account = reader.account
    for statement in (
        "CREATE ROLE looks", "CREATE USER reads PASSWORD = 'Reads-some-rows-1' DEFAULT_ROLE = looks",
        "GRANT ROLE looks TO USER reads", "GRANT USAGE ON DATABASE snowmelt TO ROLE looks",
        "GRANT USAGE ON SCHEMA snowmelt.public TO ROLE looks", "GRANT USAGE ON WAREHOUSE compute_wh TO ROLE looks",
        "GRANT SELECT ON TABLE t TO ROLE looks",
    ):  # fmt: skip
        reader.execute(statement)
    asks = account.session(user="READS", role="LOOKS")
    for number in (11, 12, 13):
        assert by_id(asks, number) == [(number, f"name{number}")]
    reader.execute("REVOKE SELECT ON TABLE t FROM ROLE looks")
    with pytest.raises(SnowmeltError):
        by_id(asks, 13)
    assert by_id(reader, 13) == [(13, "name13")]


def test_time_travel_and_time_are_never_kept(reader: Session) -> None:
    before = reader.execute("INSERT INTO t VALUES (66, 'now', 1)").query_id
    for _ in range(3):
        assert by_id(reader, 66) == [(66, "now")]
        assert reader.execute(f"SELECT id FROM t BEFORE (STATEMENT => '{before}') WHERE id = 66").rows() == []
    assert shape_of("SELECT id FROM t WHERE day = CURRENT_DATE") is None
    assert shape_of("SELECT SYSDATE() FROM t") is None
    assert shape_of("SELECT mine(id) FROM t WHERE id = 1") is None


def test_constants_are_kept_but_no_context(reader: Session) -> None:
    for _ in range(3):
        found = reader.execute("SELECT 1 AS n, 'one' AS s, 2.50 AS d")
        assert [(str(n), s, str(d)) for n, s, d in found.rows()] == [("1", "one", "2.50")]
        assert [column.name for column in found.columns] == ["N", "S", "D"]
    schemas = []
    for schema in ("FIRST", "SECOND"):
        reader.execute(f"CREATE SCHEMA {schema}")
        schemas.append(reader.execute("SELECT CURRENT_SCHEMA()").rows()[0][0])
    assert schemas == ["FIRST", "SECOND"]
    with pytest.raises(SnowmeltError):
        reader.execute("SELECT n FROM missing WHERE n = 1")
    reader.execute("CREATE TABLE missing AS SELECT 1 AS n")
    assert len(reader.execute("SELECT n FROM missing WHERE n = 1").rows()) == 1


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT a FROM t WHERE b = 12", ("12",)),
        ("SELECT a FROM t WHERE b = 12 AND c >= 'xy' ORDER BY 1 LIMIT 5", ("12", "xy")),
        ("SELECT a FROM t WHERE (t.b <> 7) OR c = 08", ("7",)),
        ("SELECT a FROM t WHERE b = 12.5 AND c < 1.50 AND d > 0.5", ("12.5",)),
        ("SELECT a FROM t WHERE b = 12 + 1", ()),
        ("SELECT a FROM t WHERE b = '12' AND c = 'true'", ()),
        ("SELECT a FROM t WHERE b IN (1, 2) AND c BETWEEN 3 AND 4", ()),
    ],
)
def test_which_values_are_taken_out(sql: str, values: tuple[str, ...]) -> None:
    shape = shape_of(sql)
    assert shape is not None and shape.values == values


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 -- more",
        "SELECT 'it''s'",
        "SELECT $1 FROM t",
        "SELECT 1e5",
        "DELETE FROM t",
        "SELECT ?",
        "SELECT 'a\\n'",
    ],
)
def test_other_texts_have_no_shape(sql: str) -> None:
    assert shape_of(sql) is None


def test_a_template_is_what_two_texts_share() -> None:
    made = template("f(11, 'a', 2)", ("11", "a"), "f(12, 'b', 2)", ("12", "b"))
    assert made is not None
    assert made.filled(("77", "word")) == "f(77, 'word', 2)"
    # A value that both had may stand for more than itself.
    half = template("f(11, 5)", ("11", "5"), "f(12, 5)", ("12", "5"))
    assert half is not None
    assert (half.filled(("13", "5")), half.filled(("13", "6"))) == ("f(13, 5)", None)
    assert template("f(11)", ("11",), "f(25)", ("12",)) is None
    assert template("f(1)", ("11",), "f(1)", ("12",)) is None
    assert template("f(1, 1)", ("1", "1"), "f(2, 2)", ("2", "2")) is None
