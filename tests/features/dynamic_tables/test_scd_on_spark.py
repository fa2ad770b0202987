"""Dimensions through SQL on Spark: random events against the reference, and the examples as they are shipped."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from snowmelt.runtime.session import Session
from tests.features.dynamic_tables.scd_reference import COLUMNS, Event, Version, assert_sound, current, versions

EXAMPLES = Path(__file__).parents[3] / "examples"
BATCHES = 3


def random_events(chance: random.Random, count: int) -> list[Event]:
    return [
        Event(
            chance.choice([None, 1, 2, 3]),
            chance.choice([None, "x", "y"]),
            chance.choice([None, "p", "q"]),
            chance.choice([False, False, False, True]),
            chance.choice([None, *range(1, 20)]),
            chance.choice([None, 0, 1]),
        )
        for _ in range(count)
    ]


def insert(session: Session, events: Sequence[Event]) -> None:
    rows = ", ".join(f"({', '.join(map(_literal, event))})" for event in events)
    session.execute(f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES {rows}")


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value).upper()


def test_random_events_on_spark(session: Session) -> None:
    chance = random.Random(7)
    session.execute("CREATE TABLE events (k INT, a VARCHAR, b VARCHAR, deleted BOOLEAN, at INT, tie INT)")
    clauses = "KEY (k) SEQUENCE BY at, tie DELETE WHEN deleted"
    options = "REFRESH_MODE = INCREMENTAL WAREHOUSE = compute_wh FROM events"
    session.execute(f"CREATE SCD TYPE 2 TABLE history {clauses} TRACK (a) {options}")
    session.execute(f"CREATE SCD TYPE 1 TABLE newest {clauses} {options}")
    events: list[Event] = []
    for _ in range(BATCHES):
        batch = random_events(chance, 12)
        batch += chance.sample([*events, *batch], 3)
        events += batch
        insert(session, batch)
        session.execute("ALTER DYNAMIC TABLE history, newest REFRESH")
        rows = session.execute("SELECT k, a, b, valid_from, valid_to FROM history").rows()
        found = [Version(*row) for row in rows]
        assert Counter(map(tuple, rows)) == Counter(
            (item.k, item.a, item.b, item.valid_from, item.valid_to) for item in versions(events, tracked=("a",))
        )
        assert_sound(found, events)
        assert Counter(map(tuple, session.execute("SELECT k, a, b FROM newest").rows())) == current(events)
    verdict = json.loads(str(session.execute("SELECT SYSTEM$CHECK_SCD('history')").rows()[0][0]))
    assert verdict["sound"] and verdict["events_without_sequence"] == sum(event.at is None for event in events)


def test_the_examples_are_sound(session: Session) -> None:
    session.execute_script((EXAMPLES / "scd" / "customers.sql").read_text(encoding="utf-8"))
    assert [list(row) for row in session.execute("SELECT * FROM orders_by_city ORDER BY city").rows()] == [
        ["London", 1], ["Paris", 1], ["Rome", 1],
    ]  # fmt: skip
    for result in session.execute_script((EXAMPLES / "cdc" / "quality" / "versions.sql").read_text(encoding="utf-8")):
        assert result.rows() == []
