"""TPC-H's 22 queries as dynamic tables, refreshed by Spark after changes of all eight tables by SQL."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import Any

import pytest

from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES, create_table
from snowmelt.runtime.session import Session
from tests.support.tiny_tpch import Row, tiny_change, tiny_rows

SCALE = 0.002
ROUNDS = 2


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case date():
            return f"DATE '{value}'"
    return str(value)


def insert(session: Session, table: str, rows: Iterable[Row]) -> None:
    texts = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    if texts:
        session.execute(f"INSERT INTO {table} VALUES {texts}")


def condition(table: str, row: Row) -> str:
    return " AND ".join(
        f"{column} IS NULL" if value is None else f"{column} = {literal(value)}"
        for column, value in zip(TABLES[table], row, strict=True)
    )


def carry_out(session: Session, table: str, before: Counter[Row], change: Counter[Row]) -> Counter[Row]:
    """The change as UPDATE, DELETE and INSERT statements; the rows there are then."""
    after = Counter({row: before[row] + change[row] for row in {*before, *change} if before[row] + change[row] > 0})
    gone, come = list(before - after), after - before
    by_key = {row[0]: row for row in come}
    updated = next((row for row in gone if row[0] in by_key and not after[row] and before[row] == 1), None)
    if updated is not None:
        new = by_key[updated[0]]
        assigned = ", ".join(f"{c} = {literal(value)}" for c, value in zip(TABLES[table], new, strict=True))
        session.execute(f"UPDATE {table} SET {assigned} WHERE {condition(table, updated)}")
        come -= Counter([new])
        gone.remove(updated)
    if gone:
        session.execute(f"DELETE FROM {table} WHERE {' OR '.join(f'({condition(table, row)})' for row in gone)}")
    # Of rows that were there several times some may stay.
    insert(session, table, [*come.elements(), *(row for row in gone for _ in range(after[row]))])
    return after


@pytest.mark.slow
def test_the_22_queries_stay_equal(session: Session) -> None:
    rnd = random.Random(22)
    rows = tiny_rows(rnd)
    for table in TABLES:
        session.execute(create_table(table))
        insert(session, table, rows[table].elements())
    for name in query_names():
        session.execute(
            f"CREATE DYNAMIC TABLE {name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH"
            f" REFRESH_MODE = INCREMENTAL AS {query_text(name, SCALE)}"
        )
    assert not wrong(session), "at first"
    for number in range(ROUNDS):
        for table in TABLES:
            rows[table] = carry_out(session, table, rows[table], tiny_change(rnd, table, rows[table]))
            assert session.execute(f"SELECT COUNT(*) FROM {table}").rows() == [(rows[table].total(),)]
        for name in query_names():
            session.execute(f"ALTER DYNAMIC TABLE {name} REFRESH")
        assert not wrong(session), f"round {number}"
    actions = actions_of(session)
    assert all(found[1:] for found in actions.values())
    assert {action for found in actions.values() for action in found[1:]} <= {"INCREMENTAL", "NO_DATA"}, actions


def wrong(session: Session) -> dict[str, Any]:
    verdicts = {}
    for name in query_names():
        told = session.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{name}')").rows()[0][0]
        verdict = json.loads(told)
        if not verdict["equal"]:
            verdicts[name] = verdict
    return verdicts


def actions_of(session: Session) -> dict[str, list[str]]:
    """What each refresh did, the first one first."""
    found = session.execute(
        "SELECT name, refresh_action FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY())"
        f" WHERE database_name = '{session.database}' ORDER BY refresh_start_time"
    ).rows()
    actions: dict[str, list[str]] = {}
    for name, action in found:
        actions.setdefault(name, []).append(action)
    return actions
