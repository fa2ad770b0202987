"""Functions in Python over few rows: computed by a process of their own, without Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.code.client import CodeError, CodeHosts
from snowmelt.engine.code.program import program
from snowmelt.runtime.session import Session
from tests.features.scripting.python_functions import TYPES, described, python_code

Create = Callable[..., None]
_MEMORY = 1024**3


@pytest.fixture
def create(script: Session) -> Create:
    def make(body: str, arguments: str = "x INT", returns: str = "INT", clauses: str = "", kind: str = "") -> None:
        script.execute(
            f"CREATE OR REPLACE {kind} FUNCTION f({arguments}) RETURNS {returns} LANGUAGE PYTHON {clauses} "
            f"RUNTIME_VERSION = '3.11' HANDLER = 'f' AS $$\n{body}\n$$"
        )

    return make


def value(session: Session, text: str) -> Any:
    return session.execute(f"SELECT {text}").rows()[0][0]


def failure(session: Session, text: str) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(text)
    return caught.value


def test_functions_are_refused_by_name_unless_trusted(wary: Session) -> None:
    error = failure(wary, "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON HANDLER = 'f' AS 'def f(): return 1'")
    assert error.code == "000002"
    assert "trust_python" in str(error)


def test_a_function_does_not_run_when_trust_is_withdrawn(script: Session, create: Create) -> None:
    create("def f(x): return x")
    account = script.account
    trusted = account.settings
    account.settings = trusted.model_copy(update={"trust_python": False})
    try:
        assert "trust_python" in str(failure(script, "SELECT f(1)"))
    finally:
        account.settings = trusted
    assert value(script, "f(1)") == 1


def test_rows_of_a_table(script: Session, create: Create) -> None:
    create("def f(x):\n    return None if x is None else x * 2")
    script.execute("CREATE TABLE t AS SELECT * FROM VALUES (1), (2), (NULL) v(a)")
    assert script.execute("SELECT a, f(a) FROM t WHERE f(a) > 2 OR a IS NULL ORDER BY a").rows() == [
        (2, 4),
        (None,) * 2,
    ]
    assert script.execute("SELECT SUM(f(a)), f(MAX(a)) FROM t").rows() == [(6, 4)]


def test_strict_functions_are_not_asked_about_null(script: Session, create: Create) -> None:
    create("def f(x): return 1", clauses="RETURNS NULL ON NULL INPUT")
    assert script.execute("SELECT f(5), f(NULL)").rows() == [(1, None)]
    create("def f(x): return 1", clauses="CALLED ON NULL INPUT")
    assert value(script, "f(NULL)") == 1


@pytest.mark.parametrize(("type_", "literal", "python"), TYPES)
def test_values_arrive_as_pythons_own(script: Session, create: Create, type_: str, literal: str, python: str) -> None:
    """Of these types the quick lane makes the texts itself."""
    create("def f(x): return type(x).__name__ + ' ' + str(x)", f"x {type_}", "VARCHAR")
    assert value(script, f"f({literal}::{type_})") == python
    assert not script.account.engine.started.is_set()


@pytest.mark.parametrize(
    ("returns", "expression", "expected"),
    [
        ("NUMBER(10,2)", "__import__('decimal').Decimal('1.005')", Decimal("1.01")),
        ("NUMBER(38,0)", "10**37", 10**37),
        ("INT", "2.5", 3),
        ("FLOAT", "0.1 + 0.2", 0.1 + 0.2),
        ("FLOAT", "float('inf')", float("inf")),
        ("VARCHAR", "7", "7"),
        ("BOOLEAN", "True", True),
        ("INT", "None", None),
        ("TIME", "__import__('datetime').time(1, 2, 3)", "01:02:03"),
        ("TIMESTAMP_NTZ", "__import__('datetime').datetime(2024, 1, 2, 3, 4, 5, 600)", "2024-01-02 03:04:05.000600"),
    ],
)
def test_values_come_back(script: Session, create: Create, returns: str, expression: str, expected: object) -> None:
    create(f"def f(): return {expression}", "", returns)
    found = value(script, "f()")
    assert found == expected or str(found) == expected
    assert not script.account.engine.started.is_set()


def test_packages_are_checked(script: Session, create: Create) -> None:
    create("def f(x): return x", clauses="PACKAGES = ('snowflake-snowpark-python', 'numpy', 'PyArrow>=10,<1000')")
    for wanted in ("no-such-package", "numpy==1.0.1", "numpy<1", "numpy;x"):
        error = failure(
            script,
            f"CREATE FUNCTION g() RETURNS INT LANGUAGE PYTHON PACKAGES = ('{wanted}') HANDLER = 'g' AS 'def g(): ...'",
        )
        assert error.code == "391546"
        assert wanted.partition("=")[0].partition("<")[0] in str(error)


def test_what_is_wrong_is_told_when_the_function_is_created(script: Session) -> None:
    head = "CREATE FUNCTION g() RETURNS INT LANGUAGE PYTHON"
    assert failure(script, f"{head} AS 'def g(): return 1'").code == "391552"
    assert failure(script, f"{head} HANDLER = 'g' AS 'def g(: return 1'").code == "100357"
    assert failure(script, f"{head} HANDLER = 'g' IMPORTS = ('@s/a.py')").code == "000002"


def test_ddl_can_be_run_again(script: Session, create: Create) -> None:
    create("class f:\n    pass", "x INT", "FLOAT", "IMMUTABLE PACKAGES = ('numpy')", "AGGREGATE")
    text = value(script, "GET_DDL('FUNCTION', 'f(INT)')")
    script.execute(text)
    assert value(script, "GET_DDL('FUNCTION', 'f(INT)')") == text
    assert text.startswith("CREATE OR REPLACE AGGREGATE FUNCTION")
    row = script.execute("SHOW USER FUNCTIONS LIKE 'f'").rows()[0]
    assert row[4] == "Y", "is_aggregate"
    shown = dict(script.execute("DESCRIBE FUNCTION f(INT)").rows())
    assert (shown["language"], shown["handler"], shown["packages"]) == ("PYTHON", "f", "[numpy]")


def test_a_vectorised_function_takes_a_frame(script: Session, create: Create) -> None:
    create(
        "import pandas\nfrom _snowflake import vectorized\n"
        "@vectorized(input=pandas.DataFrame, max_batch_size=2)\ndef f(df):\n    return df[0] + df[1] + len(df) * 100",
        "x INT, y FLOAT", "FLOAT", "IMMUTABLE",
    )  # fmt: skip
    script.execute("CREATE TABLE t AS SELECT * FROM VALUES (1, 1.5), (2, NULL), (3, 1.25) v(a, b)")
    assert script.execute("SELECT a, f(a, b) FROM t ORDER BY a").rows() == [(1, 202.5), (2, None), (3, 104.25)]


def test_a_lambda_is_refused_by_name(script: Session, create: Create) -> None:
    create("def f(x): return x")
    assert failure(script, "SELECT TRANSFORM([1], x -> f(x::INT))").code == "000002"


def test_a_volatile_function_makes_a_full_refresh(script: Session, create: Create) -> None:
    create("def f(x): return x")
    script.execute("CREATE TABLE t (a INT) CHANGE_TRACKING = TRUE")
    error = failure(
        script,
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
        "SELECT f(a) x FROM t",
    )
    assert "VOLATILE_FUNCTION" in str(error)


def test_an_immutable_function_stays_incremental(script: Session, create: Create) -> None:
    create("def f(x): return x * 10", clauses="IMMUTABLE")
    script.execute("CREATE TABLE t (a INT) CHANGE_TRACKING = TRUE")
    script.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
        "SELECT f(a) x FROM t"
    )
    script.execute("INSERT INTO t VALUES (1), (2)")
    script.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert script.execute("SELECT x FROM d ORDER BY x").rows() == [(10,), (20,)]


# -- the process ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "def g(x):\n    return 1 / 0\ndef f(x):\n    return g(x)",
            "line 2, in g\nZeroDivisionError: division by zero",
        ),
        ("def f(x):\n    while True: pass", "took longer than 0.5 seconds"),
        ("def f(x): return 'a' * 10**12", "MemoryError"),
        ("import os\ndef f(x): os._exit(7)", "ended (status 7)"),
        ("def f(x): return object()", "no NUMBER"),
        ("def f(x): return 10**38", "out of range"),
        ("def g(x): return 1", "'f' is not defined"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_what_goes_wrong_is_told(body: str, told: str) -> None:
    hosts = CodeHosts(program(), _MEMORY)
    try:
        code = python_code(body, seconds=0.5 if "while" in body else 60)
        with pytest.raises(CodeError) as caught:
            hosts.call(code.name, code.spec, [["1"]])
        assert told in str(caught.value)
        # The next call is answered, by the same process or a new one.
        code = python_code("def f(x): return x", seconds=60)
        assert hosts.call(code.name, code.spec, [["1"]]) == ["1"]
    finally:
        hosts.close()


def test_the_process_has_neither_our_environment_nor_our_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNOWMELT_SECRET", "xyzzy")
    body = "import os, sys\ndef f(x):\n    print('noise')\n    return str(os.getpid()) + str(dict(os.environ))"
    code = python_code(body, returns="VARCHAR")
    hosts = CodeHosts(program(), _MEMORY)
    try:
        found = hosts.call(code.name, code.spec, [["1"]])[0] or ""
    finally:
        hosts.close()
    assert "xyzzy" not in found
    assert not found.startswith(str(os.getpid()))


def test_codes_that_were_forgotten_are_sent_again() -> None:
    hosts = CodeHosts(program(), _MEMORY)
    codes = [python_code(f"def f(x): return x + {number}") for number in range(103)]
    try:
        for code in (*codes, codes[0]):
            hosts.call(code.name, code.spec, [["1"]])
        assert hosts.call(codes[102].name, codes[102].spec, [["1"]]) == ["103"]
    finally:
        hosts.close()


def test_limits_are_settings(tmp_path: Path) -> None:
    settings = Settings(trust_python=True, python_seconds=33, quick=QuickSettings(seconds=300))
    with open_account(tmp_path / "account", settings=settings) as account:
        code = account.engine.code
        session = account.session()
        session.execute("CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON HANDLER = 'f' AS 'def f(): return 1'")
        assert value(session, "f()") == 1
        assert [described(item)["seconds"] for item in code] == [33]
