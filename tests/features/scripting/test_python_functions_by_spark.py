"""Functions in Python that Spark calls: table and aggregate functions, all types, and what differs from few rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.core.config import QuickMode
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.features.scripting.python_functions import TYPES

_WORDS = """
class f:
    def process(self, text):
        for number, word in enumerate((text or '').split()):
            yield (word, number)
"""
_TOTALS = """
class f:
    def __init__(self):
        self.total = 0
    def process(self, a):
        self.total += a
        yield (self.total,)
    def end_partition(self):
        yield (-self.total,)
"""
_SUM = """
class f:
    def __init__(self):
        self.total = 0
    def accumulate(self, a):
        self.total += a or 0
    def finish(self):
        return self.total
"""


@pytest.fixture
def python(session: Session) -> Iterator[Session]:
    """A session of an account that trusts Python, with a table."""
    account = session.account
    settings = account.settings
    account.settings = settings.model_copy(update={"trust_python": True})
    session.execute("CREATE TABLE t AS SELECT * FROM VALUES (1, 'a'), (2, 'b c'), (4, 'a'), (8, NULL) v(a, b)")
    yield session
    account.settings = settings


def create(session: Session, body: str, arguments: str, returns: str, clauses: str = "", kind: str = "") -> None:
    session.execute(
        f"CREATE OR REPLACE {kind} FUNCTION f({arguments}) RETURNS {returns} LANGUAGE PYTHON {clauses} "
        f"HANDLER = 'f' AS $$\n{body}\n$$"
    )


def test_both_lanes_give_the_same_values(python: Session) -> None:
    more = [
        ("FLOAT", "'NaN'", "float nan"),
        ("BINARY", "TO_BINARY('FF')", "bytes b'\\xff'"),
        ("VARIANT", 'PARSE_JSON(\'{"a": [1, null, "x"]}\')', "dict {'a': [1, None, 'x']}"),
        ("OBJECT", "{'a': 1}", "dict {'a': 1}"),
        ("ARRAY", "[1, 'x']", "list [1, 'x']"),
        ("TIMESTAMP_TZ", "'2024-01-31 10:11:12 +02:00'", "datetime 2024-01-31 10:11:12+02:00"),
        ("TIMESTAMP_LTZ", "'2024-01-31 10:11:12 +02:00'", "datetime 2024-01-31 03:11:12-05:00"),
    ]
    python.execute("ALTER SESSION SET TIMEZONE = 'America/New_York'")
    columns = [*TYPES, *more]
    arguments = ", ".join(f"x{index} {type_}" for index, (type_, _, _) in enumerate(columns))
    create(
        python, "def f(*a):\n    return [type(x).__name__ + ' ' + str(x) for x in a]", arguments, "VARIANT", "IMMUTABLE"
    )
    given = ", ".join(f"{literal}::{type_}" for type_, literal, _ in columns)
    wanted = [shown for _, _, shown in columns]
    for mode in (QuickMode.OFF, QuickMode.ALL):
        python.account.engine.mode = mode
        found = python.execute(f"SELECT f.value::VARCHAR FROM TABLE(FLATTEN(f({given}))) f ORDER BY f.index").rows()
        assert [row[0] for row in found] == wanted
    python.account.engine.mode = QuickMode.ON


@pytest.mark.parametrize(
    ("returns", "literal"),
    [
        ("BINARY", "b'\\xff'"),
        ("OBJECT", "{'a': [1, None]}"),
        ("ARRAY", "[1, 'x']"),
        ("TIMESTAMP_TZ", "datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))"),
        ("TIMESTAMP_LTZ", "datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)"),
    ],
)
def test_values_come_back(python: Session, returns: str, literal: str) -> None:
    body = f"from datetime import *\ndef f(none):\n    return None if none else {literal}"
    create(python, body, "none BOOLEAN", returns)
    shown = {
        "BINARY": "TO_BINARY('FF')", "OBJECT": "PARSE_JSON('{\"a\": [1, null]}')", "ARRAY": "PARSE_JSON('[1, \"x\"]')",
        "TIMESTAMP_TZ": "'2024-01-02 03:04:05 +02:00'::TIMESTAMP_TZ",
        "TIMESTAMP_LTZ": "'2024-01-02 03:04:05 +00:00'::TIMESTAMP_LTZ",
    }[returns]  # fmt: skip
    assert python.execute(f"SELECT f(FALSE) = {shown}, f(TRUE) IS NULL").rows() == [(True, True)]


def test_a_table_function_over_rows(python: Session) -> None:
    create(python, _WORDS, "text VARCHAR", "TABLE (word VARCHAR, n INT)", "IMMUTABLE")
    assert python.execute("SELECT * FROM TABLE(f('x y')) ORDER BY n").rows() == [("x", 0), ("y", 1)]
    found = python.execute("SELECT a, word, n FROM t, TABLE(f(b || ' z')) w ORDER BY a, n").rows()
    assert found == [(1, "a", 0), (1, "z", 1), (2, "b", 0), (2, "c", 1), (2, "z", 2), (4, "a", 0), (4, "z", 1)]
    python.execute("ALTER TABLE t SET CHANGE_TRACKING = TRUE")
    python.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
        "SELECT a, word FROM t, TABLE(f(b))"
    )
    python.execute("INSERT INTO t VALUES (16, 'q')")
    python.execute("DELETE FROM t WHERE a = 2")
    python.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert python.execute("SELECT * FROM d ORDER BY a").rows() == [(1, "a"), (4, "a"), (16, "q")]


def test_a_table_function_over_partitions(python: Session) -> None:
    create(python, _TOTALS, "a INT", "TABLE (total INT)")
    found = python.execute(
        "SELECT t.*, x.total FROM t, TABLE(f(t.a) OVER (PARTITION BY b ORDER BY a DESC)) x ORDER BY b, total"
    ).rows()
    assert found == [
        (None, "a", -5), (4, "a", 4), (1, "a", 5), (None, "b c", -2), (2, "b c", 2), (None, None, -8), (8, None, 8),
    ]  # fmt: skip
    joined = "FROM t JOIN t u ON t.a = u.a, TABLE(f(t.a) OVER (PARTITION BY 1)) WHERE total < 0"
    assert python.execute(f"SELECT total {joined}").rows() == [(-15,)]
    nothing = "FROM (SELECT * FROM t WHERE a > 100) t, TABLE(f(a) OVER ())"
    assert python.execute(f"SELECT COUNT(*) {nothing}").rows() == [(0,)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 FROM t, TABLE(f(a) OVER (PARTITION BY b::VARIANT))",
        "SELECT 1 FROM TABLE(f(1) OVER (PARTITION BY 1))",
        "SELECT 1 FROM t, TABLE(FLATTEN([1]) OVER ())",
        "SELECT 1 FROM t JOIN t u USING (a), TABLE(f(t.b) OVER ())",
    ],
)
def test_partitions_that_are_not_there_are_refused_by_name(python: Session, text: str) -> None:
    create(python, _TOTALS, "a INT", "TABLE (total INT)")
    with pytest.raises(SnowmeltError) as caught:
        python.execute(text)
    assert caught.value.code == "000002"


def test_an_aggregate_function(python: Session) -> None:
    create(python, _SUM, "a INT", "NUMBER(20,1)", "IMMUTABLE", "AGGREGATE")
    assert [str(row[0]) for row in python.execute("SELECT f(a) FROM t").rows()] == ["15.0"]
    python.execute("ALTER TABLE t SET CHANGE_TRACKING = TRUE")
    python.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
        "SELECT b, f(a) AS total FROM t GROUP BY b"
    )
    python.execute("INSERT INTO t VALUES (16, 'a'), (32, 'new')")
    python.execute("DELETE FROM t WHERE a = 2")
    python.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert [(b, int(total)) for b, total in python.execute("SELECT * FROM d ORDER BY b").rows()] == [
        ("a", 21), ("new", 32), (None, 8),
    ]  # fmt: skip
    for text in ("SELECT f(a) OVER () FROM t", "SELECT a FROM t WHERE f(a) > 1", "SELECT f(DISTINCT a) FROM t"):
        with pytest.raises(SnowmeltError):
            python.execute(text)


def test_what_the_code_raises_is_told(python: Session) -> None:
    create(python, "def g(x):\n    return 1 / x\ndef f(x):\n    return g(x)", "x INT", "FLOAT")
    with pytest.raises(SnowmeltError) as caught:
        python.execute("SELECT f(a - 4) FROM t")
    assert caught.value.code == "100357"
    assert caught.value.message.endswith("line 3, in g\nZeroDivisionError: division by zero")


def test_the_code_is_in_no_plan(python: Session) -> None:
    create(python, "KEY = 'xyzzy'\ndef f(x): return x", "x INT", "INT", "IMMUTABLE")
    shown = str(python.execute("EXPLAIN SELECT f(a) FROM t").rows())
    assert "snowmelt_python_" in shown
    assert "xyzzy" not in shown
