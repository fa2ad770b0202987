"""What the translator makes of every function is something that Spark's analyzer takes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import Function, FunctionKind
from tests.sql.test_binder_fuzz import answers

COLUMNS = ("i", "n", "f", "s", "b", "o", "d", "m", "ts", "tl", "tz", "v", "j", "a", "NULL", "1", "'x'", "1.5")
TRIES = 4
FROM_SPARK = frozenset({"001065", "000603"})
"""Codes of what Spark's analyzer says in its own words."""


def calls(function: Function) -> Iterator[str]:
    """With arguments of random types, the same in every run."""
    chosen = random.Random(function.name)
    most = len(function.takes) if function.max_args is None else function.max_args
    over = " OVER (PARTITION BY s ORDER BY i)" if function.kind is FunctionKind.WINDOW else ""
    for _ in range(TRIES):
        given = chosen.choices(COLUMNS, k=chosen.randint(function.min_args, max(most, function.min_args)))
        yield f"{function.name}({', '.join(given)}){over}"


@pytest.fixture(scope="module")
def session(account: Account) -> Iterator[Session]:
    opened = account.session()
    opened.execute_script(
        "CREATE DATABASE everything; CREATE TABLE t (i INT, n NUMBER(10, 2), f FLOAT, s VARCHAR, b BINARY, "
        "o BOOLEAN, d DATE, m TIME, ts TIMESTAMP_NTZ, tl TIMESTAMP_LTZ, tz TIMESTAMP_TZ, v VARIANT, j OBJECT, a ARRAY)"
    )
    yield opened
    opened.execute_script("USE DATABASE snowmelt; DROP DATABASE everything")
    opened.close()


def strange(session: Session, call: str, groups: str) -> str | None:
    """What Spark has against it; None if it has nothing, or if the translator refuses the call itself."""
    query = f"SELECT {call} AS c FROM t{groups}"
    if not answers(query):
        return None
    try:
        session.execute(query)
    except SnowmeltError as error:
        return f"{call}: {error.message}" if error.code in FROM_SPARK else None
    return None


@pytest.mark.parametrize("family", sorted({function.family for function in FUNCTIONS.values()}))
def test_spark_takes_what_the_translator_makes(session: Session, family: str) -> None:
    found = []
    for function in FUNCTIONS.values():
        if function.family == family and function.refusal is None:
            groups = " GROUP BY ROLLUP (i, n, f, s, b, o, d, m)" if function.name.startswith("GROUPING") else ""
            found += [strange(session, call, groups) for call in calls(function)]
    assert [problem for problem in found if problem is not None] == []
