"""Scripts as seen from outside: cancelling, history, what a session looks like afterwards."""

from __future__ import annotations

import threading
import time

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.support.waiting import DEADLINE


def failure(session: Session, sql: str) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(sql)
    return caught.value


def value(session: Session, sql: str) -> object:
    return session.execute(sql).rows()[0][0]


@pytest.mark.parametrize(
    "body",
    [
        "LOOP NULL; END LOOP;",
        "LET n := 0; WHILE (TRUE) DO n := n + 1; END WHILE;",
        "LOOP SHOW DATABASES; END LOOP;",
        "LOOP BEGIN SHOW DATABASES; EXCEPTION WHEN OTHER THEN NULL; END; END LOOP;",
        "LOOP EXECUTE IMMEDIATE 'BEGIN LET i := 1; RETURN i; END'; END LOOP;",
    ],
)
def test_an_endless_loop_can_be_cancelled(script: Session, body: str) -> None:
    caught: list[SnowmeltError] = []

    def run() -> None:
        try:
            script.execute(f"BEGIN {body} EXCEPTION WHEN OTHER THEN RETURN 'caught'; END")
        except SnowmeltError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + DEADLINE
    while thread.is_alive() and time.monotonic() < deadline:
        script.cancel()
        thread.join(0.05)
    assert not thread.is_alive()
    assert [error.code for error in caught] == ["000604"]
    assert script.script is None
    assert script.running is None
    assert value(script, "BEGIN RETURN 1; END") == 1


def test_a_block_that_takes_too_long_is_stopped(script: Session) -> None:
    script.execute("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 1")
    error = failure(script, "BEGIN LOOP SHOW DATABASES; END LOOP; EXCEPTION WHEN OTHER THEN RETURN 'caught'; END")
    assert error.code == "000630"


def test_every_statement_of_a_block_is_in_the_history(script: Session) -> None:
    script.execute("CREATE TABLE t (a INT)")
    result = script.execute("BEGIN INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); RETURN 5; END")
    records = script.account.journal.list(10, script.id)
    assert [(record.query_type, record.text) for record in reversed(records)][-3:] == [
        ("CALL", "BEGIN INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); RETURN 5; END"),
        ("INSERT", "INSERT INTO t VALUES (1)"),
        ("INSERT", "INSERT INTO t VALUES (2)"),
    ]
    assert len({record.query_id for record in records}) == len(records)
    assert script.query_ids[-1] == result.query_id


def test_a_failing_child_is_in_the_history_too(script: Session) -> None:
    failure(script, "BEGIN SELECT * FROM nosuch; END")
    newest, older = sorted(script.account.journal.list(2, script.id), key=lambda record: len(record.text))
    assert (newest.text, newest.error_code) == ("SELECT * FROM nosuch", "002003")
    assert (older.status, older.error_code) == ("failed_with_error", "002003")


def test_a_procedure_that_fails_gives_the_session_back(script: Session) -> None:
    home = script.database, script.schema
    script.execute("CREATE PROCEDURE fails() RETURNS INT LANGUAGE SQL AS 'BEGIN SELECT * FROM nosuch; END'")
    script.execute("CREATE SCHEMA elsewhere_of_fails")
    failure(script, f"CALL {home[1]}.fails()")
    assert (script.database, script.schema) == (home[0], "ELSEWHERE_OF_FAILS")
    assert script.script is None
    assert script.transaction is None


def test_deep_nesting_is_an_error_and_no_crash(script: Session) -> None:
    deep = "BEGIN " * 200 + "NULL; " + "END; " * 200
    assert failure(script, deep).code == "000913"
    text = "BEGIN RETURN 1; END"
    for _ in range(12):
        text = "EXECUTE IMMEDIATE '" + text.replace("'", "''") + "'"
    assert value(script, text) == 1


def test_endless_recursion_ends(script: Session) -> None:
    script.execute("CREATE PROCEDURE again() RETURNS INT LANGUAGE SQL AS 'BEGIN CALL again(); RETURN 1; END'")
    error = failure(script, "CALL again()")
    assert error.code == "090235"
    assert error.message.count("Uncaught exception") == 16


def test_a_thousand_rounds_are_quick_and_need_no_spark(script: Session) -> None:
    script.execute("CREATE TABLE numbers (n INT, label VARCHAR)")
    text = """
        BEGIN
          LET total := 0;
          FOR i IN 1 TO 1000 DO
            IF (i % 2 = 0 AND NOT (i = 4)) THEN total := total + i; ELSE total := total - 1; END IF;
          END FOR;
          FOR i IN 1 TO 20 DO INSERT INTO numbers VALUES (:i, 'x'); END FOR;
          RETURN total;
        END"""
    assert value(script, text) == sum(range(2, 1001, 2)) - 4 - 501


def test_statements_of_other_threads_wait(script: Session) -> None:
    """One session runs one statement at a time; a block counts as one."""
    script.execute("CREATE TABLE seen (n INT)")
    block = "BEGIN FOR i IN 1 TO 10 DO INSERT INTO seen VALUES (:i); END FOR; RETURN 1; END"
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(value(script, block))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1, 1, 1, 1]


def test_creating_a_function_stores_nothing_that_is_wrong(script: Session) -> None:
    failure(script, "CREATE FUNCTION f(x INT) RETURNS INT AS 'x + nosuch'")
    assert failure(script, "SELECT f(1)").code == "002140"


def test_a_view_does_not_see_the_variables_of_a_block(script: Session) -> None:
    script.execute("CREATE TABLE t (a INT)")
    error = failure(script, "BEGIN LET x := 1; CREATE VIEW v AS SELECT a FROM t WHERE a = :x; END")
    assert "Bind variable" in error.message
