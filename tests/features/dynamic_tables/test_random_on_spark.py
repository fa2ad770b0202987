"""The random queries of tests/ivm as dynamic tables on Spark, changed and refreshed through SQL alone."""

from __future__ import annotations

import json
import random

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.ivm.cases import make_case
from tests.ivm.randomdata import random_changes
from tests.ivm.sql_tables import SqlTables

QUICK = 8
LONG_BLOCKS, LONG = 10, 40
_FIRST_LONG = 3_000_000
STEPS = 2
FOUND = (3_000_355, 3_000_368)
"""Seeds that failed once."""


def run_on_spark(session: Session, seed: int) -> bool:
    """Whether the case's query could be a dynamic table that is refreshed by changes. Fails when it is ever wrong."""
    case = make_case(seed)
    if case.clock:
        return False
    tables = SqlTables(session, f"case_{seed}", case.tables, case.rows)
    options = "TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL"
    try:
        session.execute(f"CREATE DYNAMIC TABLE d {options} AS {case.query}")
    except SnowmeltError:
        # Not every query that the generator makes is one: some are refused, some divide by zero.
        return False
    rnd = random.Random(seed)
    for step in range(STEPS):
        for name, changes in random_changes(rnd, case.tables, tables.rows).items():
            tables.change(name, changes)
        try:
            session.execute("ALTER DYNAMIC TABLE d REFRESH")
        except SnowmeltError as error:
            assert error.code.startswith("1000"), f"seed {seed}, step {step}: {error}\n{case.query}"
            return False
        found = json.loads(session.execute("SELECT SYSTEM$CHECK_DYNAMIC_TABLE('d')").rows()[0][0])
        assert found["equal"], f"seed {seed}, step {step}: {found}\n{case.query}"
    session.execute(f"DROP SCHEMA case_{seed}")
    return True


def _check_seeds(session: Session, first: int, number: int) -> None:
    ran = sum(run_on_spark(session, seed) for seed in range(first, first + number))
    assert ran >= number * 0.6


def test_random_queries_on_spark(session: Session) -> None:
    _check_seeds(session, 0, QUICK)


@pytest.mark.parametrize("seed", FOUND)
def test_seeds_that_failed_once_on_spark(session: Session, seed: int) -> None:
    assert run_on_spark(session, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(LONG_BLOCKS))
def test_many_random_queries_on_spark(session: Session, block: int) -> None:
    _check_seeds(session, _FIRST_LONG + block * LONG, LONG)
