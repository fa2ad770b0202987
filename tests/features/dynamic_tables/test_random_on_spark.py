"""The random queries of tests/ivm as dynamic tables on Spark, changed and refreshed through SQL alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import date, datetime
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.ivm.cases import Case, make_case
from tests.ivm.duck import Columns, Row
from tests.ivm.randomdata import random_changes

QUICK = 8
LONG_BLOCKS, LONG = 10, 40
_FIRST_LONG = 3_000_000
STEPS = 2
FOUND = (3_000_355, 3_000_368)
"""Seeds that failed once."""


class _Tables:
    """The tables of a case in a schema of its own, and what they hold."""

    def __init__(self, session: Session, case: Case) -> None:
        self.session = session
        self.columns = case.tables
        self.rows = {name: Counter(rows) for name, rows in case.rows.items()}
        session.execute(f"CREATE SCHEMA case_{case.seed}")
        for name, columns in case.tables.items():
            described = ", ".join(f'"{column}" {type_}' for column, type_ in columns)
            session.execute(f'CREATE TABLE "{name}" ({described}) CHANGE_TRACKING = TRUE')
            self._insert(name, self.rows[name])

    def change(self, name: str, changes: Counter[Row]) -> None:
        """A row that goes is deleted with all its equals; those that stay come back."""
        there = self.rows[name]
        gone = [row for row, weight in changes.items() if weight < 0]
        for row in gone:
            self.session.execute(f'DELETE FROM "{name}" WHERE {_is(self.columns[name], row)}')
        after = Counter(there)
        after.update(changes)
        back = {row: after[row] for row in gone}
        come = {row: weight for row, weight in changes.items() if weight > 0}
        self._insert(name, Counter({**back, **come}))
        self.rows[name] = +after

    def _insert(self, name: str, rows: Counter[Row]) -> None:
        values = [f"({', '.join(map(_literal, row))})" for row in rows.elements()]
        if values:
            self.session.execute(f'INSERT INTO "{name}" VALUES {", ".join(values)}')


def _is(columns: Columns, row: Row) -> str:
    pairs = zip(columns, row, strict=True)
    return " AND ".join(f'"{name}" IS NOT DISTINCT FROM {_literal(value)}' for (name, _), value in pairs)


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case datetime():
            return f"'{value}'::TIMESTAMP_NTZ"
        case date():
            return f"'{value}'::DATE"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
        case _:
            return str(value)


def run_on_spark(session: Session, seed: int) -> bool:
    """Whether the case's query could be a dynamic table that is refreshed by changes. Fails when it is ever wrong."""
    case = make_case(seed)
    if case.clock:
        return False
    tables = _Tables(session, case)
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
