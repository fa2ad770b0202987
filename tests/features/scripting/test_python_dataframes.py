"""Rows of a procedure in Python, to tables and back. These tests need Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session


@pytest.fixture
def run(session: Session) -> Iterator[Callable[[str], object]]:
    """Runs the body of a handler, in a session that trusts Python."""
    account = session.account
    settings = account.settings
    account.settings = settings.model_copy(update={"trust_python": True})

    def call(body: str) -> object:
        indented = "".join(f"    {line}\n" for line in body.strip().split("\n"))
        session.execute(
            "CREATE OR REPLACE PROCEDURE p() RETURNS VARIANT LANGUAGE PYTHON HANDLER = 'main' AS $$\n"
            f"def main(session):\n{indented}$$"
        )
        return session.execute("CALL p()").rows()[0][0]

    yield call
    account.settings = settings


def test_rows_become_tables(run: Callable[[str], object]) -> None:
    body = """
frame = session.create_dataframe([(1, 'a'), (2, None)], schema=['id', 'name'])
frame.write.save_as_table('people', mode='overwrite')
session.create_dataframe([{'id': 3, 'name': 'c'}]).write.mode('append').save_as_table('people')
session.create_dataframe([[9, 'z']], schema=['id', 'name']).write.save_as_table('people', mode='ignore')
rows = session.sql('SELECT id, name FROM people ORDER BY id').collect()
return [[row.id, row.name] for row in rows] + [session.table('people').count()]
"""
    assert run(body) == '[[1, "a"], [2, null], [3, "c"], 3]'


def test_tables_come_as_arrow_and_pandas(run: Callable[[str], object], session: Session) -> None:
    session.execute("CREATE TABLE t (a INT, b NUMBER(5,2), c VARCHAR)")
    session.execute("INSERT INTO t VALUES (1, 1.5, 'x'), (2, 2.5, NULL)")
    body = """
frame = session.table('t')
arrow = frame.to_arrow()
pandas = frame.to_pandas()
return [frame.columns, arrow.num_rows, sorted(arrow.column_names), int(pandas['A'].sum()), str(frame.first()[1])[:1]]
"""
    assert str(run(body)).startswith('[["A", "B", "C"], 2, ["A", "B", "C"], 3, "')


def test_an_existing_table_is_not_overwritten_by_accident(run: Callable[[str], object], session: Session) -> None:
    session.execute("CREATE TABLE kept (a INT)")
    with pytest.raises(SnowmeltError, match="already exists"):
        run("session.create_dataframe([1]).write.save_as_table('kept')")
    with pytest.raises(SnowmeltError, match="There is no mode 'sideways'"):
        run("session.create_dataframe([1]).write.save_as_table('kept', mode='sideways')")


def test_rows_must_fit_their_schema(run: Callable[[str], object]) -> None:
    with pytest.raises(SnowmeltError, match="Every row must have 2 value"):
        run("session.create_dataframe([(1, 2), (3,)], schema=['a', 'b'])")
    with pytest.raises(SnowmeltError, match="at least one row"):
        run("session.create_dataframe([])")


def test_a_procedure_in_sql_can_return_a_table_to_python(run: Callable[[str], object], session: Session) -> None:
    session.execute(
        "CREATE PROCEDURE two() RETURNS TABLE (a INT, b VARCHAR) LANGUAGE SQL AS "
        "'BEGIN RETURN TABLE(SELECT column1, column2 FROM VALUES (1, ''x''), (2, ''y'') ORDER BY 1); END'"
    )
    assert run("return [[row.a, row['B']] for row in session.call('two')]") == '[[1, "x"], [2, "y"]]'


def test_values_of_every_type_come_out_as_they_went_in(run: Callable[[str], object]) -> None:
    body = """
row = session.sql("SELECT 7, 1.50, 0.5::FLOAT, 'x', TRUE, '2024-02-29'::DATE, '10:11:12'::TIME, "
    "'1969-12-31 23:59:59.5'::TIMESTAMP_NTZ, '2024-02-29 10:11:12 +05:30'::TIMESTAMP_TZ, X'00FF', NULL").collect()[0]
back = session.sql('SELECT ' + ', '.join('?' * len(row)), params=list(row)).collect()[0]
return [list(row) == list(back), str(row[7]), row[8].isoformat(), row[9].hex()]
"""
    assert run(body) == '[true, "1969-12-31 23:59:59.500000", "2024-02-29T10:11:12+05:30", "00ff"]'
