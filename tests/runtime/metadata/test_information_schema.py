"""INFORMATION_SCHEMA's rows and the histories, straight from where they are built: Spark only reads them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime import histories, inputs
from snowmelt.runtime.information_schema.views import view, view_rows
from snowmelt.runtime.metadata.information_schema import view_columns
from snowmelt.runtime.results import arrow_type
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import FileLoad
from tests.runtime.metadata.catalog_objects import fill, put, table


@pytest.fixture
def run(meta: Session) -> Iterator[Run]:
    yield Run(meta, SqlText("SELECT"))


def built(run: Run, name: str) -> list[dict[str, Any]]:
    assert run.session.database is not None
    with run.account.state.read() as state:
        database = state.catalog.database(run.session.database)
        assert database is not None
        return [dict(row) for row in view_rows()[name](run, state, database)]


def test_every_view_has_rows_with_known_columns(run: Run) -> None:
    assert set(view_rows()) == set(view_columns())
    fill(run.session)
    for name in view_columns():
        known = {column.name for column in view_columns()[name]}
        for row in built(run, name):
            assert set(row) <= known, f"{name}: {set(row) - known}"


def test_inputs_have_the_declared_types(run: Run) -> None:
    fill(run.session)
    assert run.session.database is not None
    with run.account.state.read() as state:
        for name, columns in view_columns().items():
            relation = view(run, state, ObjectName(run.session.database, "INFORMATION_SCHEMA", name))
            assert relation.reference is not None
            data = run.inputs[relation.reference]
            assert data.schema.types == [arrow_type(column.type) for column in columns]
            assert [column.name for column in relation.columns] == [column.name for column in columns]
            assert [column.key for column in relation.columns] == data.column_names


def test_only_the_rows_of_the_database(run: Run) -> None:
    fill(run.session)
    other = run.account.session()
    other.execute("CREATE OR REPLACE DATABASE other_one")
    put(other, "ELSEWHERE", table("A"))
    other.close()
    tables = [row["TABLE_NAME"] for row in built(run, "TABLES") if row["TABLE_SCHEMA"] == "PUBLIC"]
    assert tables == ["T", "V"]
    assert {row["TABLE_CATALOG"] for row in built(run, "COLUMNS")} == {run.session.database}
    assert "OTHER_ONE" in {row["DATABASE_NAME"] for row in built(run, "DATABASES")}


def test_a_view_is_built_once_a_statement(run: Run) -> None:
    assert run.session.database is not None
    name = ObjectName(run.session.database, "INFORMATION_SCHEMA", "TABLES")
    with run.account.state.read() as state:
        assert view(run, state, name).reference == view(run, state, name).reference
    assert len(run.inputs) == 1


def test_names_that_are_not_there(run: Run) -> None:
    with run.account.state.read() as state:
        with pytest.raises(SnowmeltError, match="Database 'D' does not exist"):
            view(run, state, ObjectName("D", "INFORMATION_SCHEMA", "X"))
        assert run.session.database is not None
        with pytest.raises(SnowmeltError, match=r"KEY_COLUMN_USAGE' does not exist"):
            view(run, state, ObjectName(run.session.database, "INFORMATION_SCHEMA", "KEY_COLUMN_USAGE"))


def test_tables(run: Run) -> None:
    run.session.execute("CREATE TRANSIENT TABLE t (a INT) CLUSTER BY (a)")
    run.session.execute("INSERT INTO t VALUES (1), (2)")
    run.session.execute("CREATE TEMPORARY TABLE u (a INT)")
    first, second = [row for row in built(run, "TABLES") if row["TABLE_SCHEMA"] == "PUBLIC"]
    assert (first["TABLE_TYPE"], first["IS_TRANSIENT"], first["ROW_COUNT"]) == ("BASE TABLE", "YES", 2)
    assert (first["CLUSTERING_KEY"], first["IS_TEMPORARY"]) == ("LINEAR(a)", "NO")
    assert first["LAST_ALTERED"] > first["LAST_DDL"] == first["CREATED"]
    assert (second["TABLE_TYPE"], second["IS_TEMPORARY"]) == ("TEMPORARY TABLE", "YES")


def test_columns(run: Run) -> None:
    run.session.execute(
        "CREATE TABLE t (a INT AUTOINCREMENT, b VARCHAR(10) NOT NULL DEFAULT 'x', c TIMESTAMP_NTZ(3), d NUMBER(5,2))"
    )
    rows = [row for row in built(run, "COLUMNS") if row["TABLE_NAME"] == "T"]
    assert [row["DATA_TYPE"] for row in rows] == ["NUMBER", "TEXT", "TIMESTAMP_NTZ", "NUMBER"]
    assert (rows[0]["IS_IDENTITY"], rows[0]["IDENTITY_START"]) == ("YES", "1")
    assert (rows[1]["CHARACTER_MAXIMUM_LENGTH"], rows[1]["CHARACTER_OCTET_LENGTH"]) == (10, 40)
    assert (rows[1]["IS_NULLABLE"], rows[1]["COLUMN_DEFAULT"]) == ("NO", "'x'")
    assert rows[2]["DATETIME_PRECISION"] == 3
    assert (rows[3]["NUMERIC_PRECISION"], rows[3]["NUMERIC_SCALE"]) == (5, 2)


def test_constraints(run: Run) -> None:
    run.session.execute("CREATE TABLE p (id INT, CONSTRAINT pk PRIMARY KEY (id))")
    run.session.execute(
        "CREATE TABLE c (id INT UNIQUE, CONSTRAINT fk FOREIGN KEY (id) REFERENCES p (id), CHECK (id > 0))"
    )
    kinds = [(row["TABLE_NAME"], row["CONSTRAINT_TYPE"]) for row in built(run, "TABLE_CONSTRAINTS")]
    assert kinds == [("C", "UNIQUE"), ("C", "FOREIGN KEY"), ("P", "PRIMARY KEY")]
    (reference,) = built(run, "REFERENTIAL_CONSTRAINTS")
    assert (reference["CONSTRAINT_NAME"], reference["UNIQUE_CONSTRAINT_NAME"]) == ("FK", "PK")
    (check,) = built(run, "CHECK_CONSTRAINTS")
    assert (check["CONSTRAINT_TABLE"], check["CHECK_CLAUSE"]) == ("C", "id > 0")


def test_loads(run: Run) -> None:
    run.session.execute("CREATE TABLE t (a INT)")
    assert run.session.database is not None
    with run.account.state.begin() as state:
        item = state.catalog.objects(database=run.session.database)[0]
        state.loads.record(
            [
                FileLoad(
                    table_id=item.id, file="@db.s.stage/a/1.csv", etag="e", size=10, loaded_at=run.now,
                    status="PARTIALLY_LOADED", rows_parsed=3, rows_loaded=2, error_count=1, first_error="bad",
                )
            ]
        )  # fmt: skip
    (row,) = built(run, "LOAD_HISTORY")
    assert (row["STATUS"], row["ROW_COUNT"], row["ROW_PARSED"]) == ("PARTIALLY LOADED", 2, 3)
    with run.account.state.read() as state:
        (copied,) = histories.loads(run, state, "t", run.now - timedelta(hours=1), None)
        assert histories.loads(run, state, "t", run.now + timedelta(hours=1), None) == []
    assert (copied["FILE_NAME"], copied["STAGE_LOCATION"]) == ("a/1.csv", "@db.s.stage")
    assert copied["STATUS"] == "Partially loaded"
    known = {column.name for column in histories.COPY_COLUMNS}
    assert set(copied) <= known


def test_query_history(run: Run) -> None:
    run.session.execute("SELECT 1 AS one")
    with pytest.raises(SnowmeltError):
        run.session.execute("SELECT * FROM nosuch")
    everything = histories.EndTimes(None, None)
    rows = histories.queries(run, everything, limit=2, session_id=run.session.id)
    assert [row["QUERY_TEXT"] for row in rows] == ["SELECT * FROM nosuch", "SELECT 1 AS one"]
    assert [row["EXECUTION_STATUS"] for row in rows] == ["FAILED_WITH_ERROR", "SUCCESS"]
    assert (rows[0]["ERROR_CODE"], rows[1]["ROWS_PRODUCED"], rows[1]["WAREHOUSE_SIZE"]) == (2003, 1, "X-Small")
    assert str(rows[0]["SESSION_ID"]) == run.session.id
    assert set(rows[0]) <= {column.name for column in histories.QUERY_COLUMNS}
    past = histories.EndTimes(None, run.now - timedelta(days=1))
    assert histories.queries(run, past, limit=10, session_id=run.session.id) == []
    assert histories.queries(run, everything, limit=10, warehouse="NOSUCH") == []
    assert inputs.rows_table(histories.QUERY_COLUMNS, rows).num_rows == 2
