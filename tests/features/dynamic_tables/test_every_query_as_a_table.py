"""Every query of the plans' tests, of TPC-H and of the documents as a dynamic table on the real engine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.features.dynamic_tables.every_query import Group, groups

GROUPS = {group.name: group for group in groups()}
REFUSED = ("in a dynamic table", "Missing column specification")
"""How a query says that it can't be a definition whatever the mode."""


def create(session: Session, name: str, query: str, mode: str, initialize: str) -> None:
    session.execute(
        f"CREATE OR REPLACE DYNAMIC TABLE {name} TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH"
        f" REFRESH_MODE = {mode} INITIALIZE = {initialize} AS {query}"
    )


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_every_query_can_be_created_and_explained(session: Session, group: Group) -> None:
    """A query that answers is a definition, or is refused by the name of what a definition can't have."""
    for statement in group.tables:
        session.execute(statement)
    failures = []
    for query in group.queries:
        try:
            for mode in group.modes:
                create(session, "d", query, mode, "ON_SCHEDULE")
            session.execute("EXPLAIN DYNAMIC TABLE d")
        except SnowmeltError as error:
            if group.name != "documents" or not any(words in error.message for words in REFUSED):
                failures.append(f"{query}\n  {error}")
    assert group.queries and not failures, "\n".join(failures)


def random_rows(rnd: random.Random, types: Iterable[str], first: int, number: int) -> str:
    """Rows around the present, to the hour and to the day."""
    return ", ".join(
        f"({', '.join(_literal(rnd, type_, key) for type_ in types)})" for key in range(first, first + number)
    )


def _literal(rnd: random.Random, type_: str, key: int) -> str:
    if rnd.random() < 0.1:
        return "NULL"
    now = datetime.now(UTC)
    match type_.split("(", maxsplit=1)[0]:
        case "DATE":
            return f"'{now.date() + timedelta(days=rnd.randint(-3, 2))}'::DATE"
        case "TIMESTAMP_NTZ":
            return f"'{now + timedelta(minutes=rnd.randint(-90, 90)):%Y-%m-%d %H:%M:%S}'::TIMESTAMP_NTZ"
        case "VARCHAR":
            return f"'{rnd.choice('xyz')}{rnd.choice(('', 'a'))}'"
        case "BOOLEAN":
            return rnd.choice(("TRUE", "FALSE"))
    return str(rnd.choice((key % 5, rnd.randint(-1, 5))))


def tables_of(session: Session) -> dict[str, list[str]]:
    """The types of the columns of each table."""
    found: dict[str, list[str]] = {}
    for table, type_ in session.execute(
        "SELECT c.table_name, c.data_type FROM INFORMATION_SCHEMA.COLUMNS c JOIN INFORMATION_SCHEMA.TABLES t"
        " ON t.table_name = c.table_name AND t.table_schema = c.table_schema"
        " WHERE t.table_type = 'BASE TABLE' AND c.table_schema = 'PUBLIC' ORDER BY c.table_name, c.ordinal_position"
    ).rows():
        found.setdefault(table, []).append(type_)
    return found


def stay_equal(session: Session, group: Group, queries: Iterable[str]) -> None:
    """Created from rows, and refreshed by changes after inserts, an update and deletes: the same as the query."""
    rnd = random.Random(group.name)
    for statement in group.tables:
        session.execute(statement)
    tables = tables_of(session)
    for table, types in tables.items():
        session.execute(f"INSERT INTO {table} VALUES {random_rows(rnd, types, 0, 12)}")
    names = {f"D{number}": query for number, query in enumerate(queries)}
    for name, query in names.items():
        create(session, name, query, "INCREMENTAL", "ON_CREATE")
    for table, types in tables.items():
        key = session.execute(f"DESCRIBE TABLE {table}").rows()[0][0]
        session.execute(f"DELETE FROM {table} WHERE {key} = 2")
        session.execute(f"UPDATE {table} SET {key} = 4 WHERE {key} = 1")
        session.execute(f"INSERT INTO {table} VALUES {random_rows(rnd, types, 3, 5)}")
    wrong: dict[str, Any] = {}
    for name, query in names.items():
        session.execute(f"ALTER DYNAMIC TABLE {name} REFRESH")
        try:
            told = json.loads(session.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{name}')").rows()[0][0])
        except SnowmeltError:
            # A plan takes correlated subqueries apart; Spark itself refuses some of them.
            with pytest.raises(SnowmeltError):
                session.execute(query)
            continue
        if not told["equal"]:
            wrong[query] = told
    assert names and not wrong


def test_what_moves_with_the_clock_stays_equal(session: Session) -> None:
    clock = GROUPS["clock"]
    stay_equal(session, clock, [clock.queries[2], clock.queries[-8], clock.queries[-3]])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["operators", "clock", "distinct", "extremes", "first rows"])
def test_every_query_stays_equal(session: Session, name: str) -> None:
    stay_equal(session, GROUPS[name], GROUPS[name].queries)
