"""Procedures in Python, and the session they get."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from decimal import Decimal

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.code.procedures.small_session import Row
from snowmelt.runtime.session import Session

Create = Callable[..., None]


@pytest.fixture
def create(script: Session) -> Create:
    def make(body: str, *, returns: str = "VARCHAR", arguments: str = "", name: str = "p", rights: str = "") -> None:
        script.execute(
            f"CREATE OR REPLACE PROCEDURE {name}({arguments}) RETURNS {returns} LANGUAGE PYTHON "
            f"RUNTIME_VERSION = '3.11' PACKAGES = ('snowflake-snowpark-python') HANDLER = 'main' {rights} "
            f"AS $$\n{body}$$"
        )

    return make


def call(session: Session, text: str = "CALL p()") -> object:
    return session.execute(text).rows()[0][0]


def failure(session: Session, text: str = "CALL p()") -> SnowmeltError:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(text)
    return caught.value


def test_python_is_refused_by_name_unless_trusted(wary: Session) -> None:
    error = failure(
        wary, "CREATE PROCEDURE p() RETURNS INT LANGUAGE PYTHON HANDLER = 'main' AS 'def main(s): return 1'"
    )
    assert error.code == "000002"
    assert "trust_python" in str(error)


def test_a_stored_procedure_does_not_run_when_trust_is_withdrawn(script: Session, create: Create) -> None:
    create("def main(session): return 'ran'\n")
    account = script.account
    trusted = account.settings
    account.settings = trusted.model_copy(update={"trust_python": False})
    try:
        assert "trust_python" in str(failure(script))
    finally:
        account.settings = trusted
    assert call(script) == "ran"


def test_arguments_arrive_as_pythons_own(script: Session, create: Create) -> None:
    create(
        "def main(session, *given):\n    return ' '.join(f'{type(x).__name__}={x}' for x in given)\n",
        arguments="a INT, b VARCHAR, c NUMBER(5,2), d BOOLEAN, e FLOAT",
    )
    assert call(script, "CALL p(1, 'x', 2, TRUE, NULL)") == "int=1 str=x Decimal=2.00 bool=True NoneType=None"


@pytest.mark.parametrize(
    ("returns", "expression", "expected"),
    [
        ("INT", "41 + 1", 42),
        ("NUMBER(10,2)", "__import__('decimal').Decimal('1.005')", Decimal("1.01")),
        ("FLOAT", "0.5", 0.5),
        ("VARCHAR", "7", "7"),
        ("BOOLEAN", "True", True),
        ("DATE", "__import__('datetime').date(2024, 1, 31)", datetime.date(2024, 1, 31)),
        ("VARIANT", "'text'", '"text"'),
        ("VARIANT", "12", "12"),
        ("OBJECT", "{'a': [1, None]}", '{"a": [1, null]}'),
        ("ARRAY", "[1, 'b']", '[1, "b"]'),
        ("INT", "None", None),
    ],
)
def test_what_is_returned_has_the_declared_type(
    script: Session, create: Create, returns: str, expression: str, expected: object
) -> None:
    create(f"def main(session):\n    return {expression}\n", returns=returns)
    assert call(script) == expected


def test_the_session_runs_sql(script: Session, create: Create) -> None:
    create(
        """
def main(session, n):
    session.sql("CREATE OR REPLACE TABLE made (a INT, b VARCHAR)").collect()
    for i in range(n):
        inserted = session.sql("INSERT INTO made VALUES (?, ?)", params=[i, f"it's {i}"]).collect()
        assert inserted[0][0] == 1
    rows = session.sql("SHOW TABLES LIKE 'MADE'").collect()
    return rows[0].name + ' ' + rows[0]["name"] + ' ' + str(len(rows)) + ' ' + str(rows[0].as_dict()["rows"])
""",
        arguments="n INT",
    )
    assert call(script, "CALL p(3)") == "MADE MADE 1 3"


def test_rows_know_their_columns() -> None:
    row = Row((1, "x"), ("A", "b"))
    assert (row[0], row.A, row.a, row["A"], row["b"], row.b) == (1, 1, 1, 1, "x", "x")
    assert row.as_dict() == {"A": 1, "b": "x"}
    assert repr(row) == "Row(A=1, b='x')"
    assert row == (1, "x")
    with pytest.raises(AttributeError):
        _ = row.c
    with pytest.raises(KeyError):
        _ = row["c"]


def test_the_session_knows_where_it_is(script: Session, create: Create) -> None:
    create(
        "def main(session):\n    return session.get_current_database() + '.' + session.get_current_schema()"
        " + ' ' + session.get_current_user() + ' ' + session.get_current_role()\n"
    )
    assert call(script) == f'"{script.database}"."{script.schema}" "{script.user}" "{script.role}"'


def test_procedures_call_each_other(script: Session, create: Create) -> None:
    script.execute("CREATE PROCEDURE twice(n INT) RETURNS INT LANGUAGE SQL AS 'BEGIN RETURN n * 2; END'")
    create("def main(session, n):\n    return session.call('twice', n) + 1\n", arguments="n INT", returns="INT")
    assert call(script, "CALL p(4)") == 9
    assert call(script, "BEGIN LET x INT := 0; CALL p(5) INTO :x; RETURN x; END") == 11


def test_snowpark_can_be_imported_for_its_names(script: Session, create: Create) -> None:
    create(
        """
import snowflake.snowpark as snowpark
from snowflake.snowpark import Row, Session
def main(session: snowpark.Session) -> str:
    return type(session) is Session and Row.__name__
"""
    )
    assert call(script) == "Row"


def test_an_exception_shows_the_line_of_the_body_and_nothing_of_the_server(script: Session, create: Create) -> None:
    create("def helper():\n    raise ValueError('boom')\n\ndef main(session):\n    return helper()\n")
    error = failure(script)
    assert (error.code, error.sqlstate) == ("100357", "P0000")
    assert error.message == (
        "Python Interpreter Error:\nTraceback (most recent call last):\n"
        '  File "_udf_code.py", line 3, in helper\nValueError: boom'
    )


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("def main(session):\n    import sys\n    sys.exit(3)\n", "SystemExit: 3"),
        ("def main(session):\n    return object()\n", "A value of type object cannot be returned"),
        ("def main(session):\n    return session.sql('SELECT * FROM nosuch').collect()\n", "002003 (42S02)"),
        ("def main():\n    return 1\n", "TypeError: main() takes 0 positional arguments"),
        ("main = 5\n", "The handler 'main' is not a function of the body"),
        ("raise RuntimeError('at import')\n", "RuntimeError: at import"),
        ("def main(session):\n    return main(session)\n", "RecursionError"),
    ],
)
def test_what_goes_wrong_is_a_python_error(script: Session, create: Create, body: str, shown: str) -> None:
    create(body)
    error = failure(script)
    assert error.code == "100357"
    assert shown in error.message
    assert "/" not in error.message.replace("</", "")
    assert call(script, "BEGIN RETURN 1; END") == 1


def test_an_exception_can_be_caught_on_both_sides(script: Session, create: Create) -> None:
    create(
        """
def main(session):
    try:
        session.sql('SELECT * FROM nosuch').collect()
    except Exception as error:
        return 'python: ' + error.code
"""
    )
    assert call(script) == "python: 002003"
    create("def main(session):\n    raise ValueError('boom')\n")
    assert call(script, "BEGIN CALL p(); EXCEPTION WHEN STATEMENT_ERROR THEN RETURN SQLCODE || SQLSTATE; END") == (
        "100357P0000"
    )


def test_a_procedure_that_catches_everything_can_be_cancelled(script: Session, create: Create) -> None:
    create(
        """
def main(session):
    while True:
        try:
            session.sql('SHOW DATABASES').collect()
        except ValueError:
            pass
"""
    )
    caught: list[str] = []

    def run() -> None:
        caught.append(failure(script).code)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        script.cancel()
        thread.join(0.05)
    assert caught == ["000604"]


def test_a_syntax_error_shows_when_the_procedure_is_created(script: Session) -> None:
    head = "CREATE PROCEDURE q() RETURNS INT LANGUAGE PYTHON HANDLER = 'main' AS"
    error = failure(script, f"{head} $$\ndef main(session)\n    return 1\n$$")
    assert error.code == "100357"
    assert "line 2" in error.message
    assert failure(script, "CALL q()").code == "002140"
    assert failure(script, "CREATE PROCEDURE q() RETURNS INT LANGUAGE PYTHON AS 'x = 1'").code == "391552"


def test_owners_rights_hold_in_python_too(script: Session, create: Create) -> None:
    script.execute("SET secret = 'shh'")
    create("def main(session):\n    return session.sql('SELECT $secret').collect()[0][0]\n")
    assert "is not allowed in owners rights" in failure(script).message
    create("def main(session):\n    return session.sql('SELECT $secret').collect()[0][0]\n", rights="EXECUTE AS CALLER")
    assert call(script) == "shh"


def test_transactions_of_a_procedure_end_with_it(script: Session, create: Create) -> None:
    script.execute("CREATE TABLE t (a INT)")
    create(
        """
def main(session):
    session.sql('BEGIN').collect()
    session.sql('INSERT INTO t VALUES (1)').collect()
    return 'left open'
"""
    )
    assert failure(script).code == "090230"
    assert script.transaction is None
    script.execute("BEGIN")
    assert failure(script).code in ("090230", "000625")
    script.execute("ROLLBACK")


def test_a_table_is_returned_as_a_table(script: Session, create: Create) -> None:
    create("def main(session):\n    return session.sql('SHOW SCHEMAS')\n", returns="TABLE ()")
    result = script.execute("CALL p()")
    assert "name" in [column.name for column in result.columns]
    create("def main(session):\n    return 5\n", returns="TABLE (a INT)")
    assert "returned int" in failure(script).message
