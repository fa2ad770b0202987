"""examples/cdc_sql: built from its file, then fed while the graph runs by itself."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.waiting import DEADLINE

PIPELINE = Path(__file__).parents[2] / "examples" / "cdc_sql" / "pipeline.sql"
BATCHES = 3
CITIES = ("Bern", "Graz", "Ulm")


class Source:
    """A table of customers somewhere else, and the log of its changes."""

    def __init__(self) -> None:
        self.random = random.Random(11)
        self.customers: dict[int, str] = {}
        self.states = 0
        """How many states customers have had."""
        self.position = 0
        self.now = datetime(2026, 1, 1)

    def changes(self, count: int) -> list[tuple[int, str, datetime, str | None, str | None]]:
        return [self._change() for _ in range(count)]

    def _change(self) -> tuple[int, str, datetime, str | None, str | None]:
        self.position += 1
        self.now += timedelta(seconds=1)
        id = self.random.randrange(1, 8)
        before = self._row(id) if id in self.customers else None
        if before is not None and self.random.random() < 0.3:
            del self.customers[id]
            return self.position, "d", self.now, before, None
        self.customers[id] = self.random.choice(CITIES)
        self.states += 1
        return self.position, "u" if before else "c", self.now, before, self._row(id)

    def _row(self, id: int) -> str:
        return json.dumps({"id": id, "name": f"customer {id}", "city": self.customers[id]})


def land(session: Session, source: Source, count: int) -> None:
    def literal(text: str | None) -> str:
        return "NULL" if text is None else f"'{text}'"

    rows = ", ".join(
        f"({position}, '{operation}', '{at}', {literal(before)}, {literal(after)})"
        for position, operation, at, before, after in source.changes(count)
    )
    session.execute(
        "INSERT INTO landing SELECT column1, column2, column3::TIMESTAMP_NTZ, PARSE_JSON(column4), PARSE_JSON(column5) "
        f"FROM VALUES {rows}"
    )


def await_that(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    end = monotonic() + DEADLINE
    while not condition():
        assert monotonic() < end, "it did not happen in time"
        pause.wait(0.5)


def test_changes_flow_through_the_graph_by_themselves(account: Account, session: Session) -> None:
    session.execute_script(PIPELINE.read_text())
    account.services[Tasks].start()
    account.services[DynamicTables].start()
    source = Source()
    try:
        for batch in range(BATCHES):
            land(session, source, 12 + batch)
            await_that(lambda: caught_up(session, source))
        check(session, source)
    finally:
        session.execute("ALTER TASK parse_changes SUSPEND")
        account.services[Tasks].stop(DEADLINE)
        account.services[DynamicTables].stop(DEADLINE)


def caught_up(session: Session, source: Source) -> bool:
    history = "SELECT COUNT(*), COUNT_IF(is_current) FROM customer_history"
    if session.execute(history).rows() != [(source.states, len(source.customers))]:
        return False
    cities = dict(session.execute("SELECT city, customers FROM customers_by_city").rows())
    return cities == dict(Counter(source.customers.values()))


def check(session: Session, source: Source) -> None:
    current = "SELECT id, city FROM customer_history WHERE is_current"
    assert dict(session.execute(current).rows()) == source.customers
    overlaps = (
        "SELECT COUNT(*) FROM (SELECT valid_to, LEAD(valid_from) OVER (PARTITION BY id ORDER BY valid_from) "
        "AS following FROM customer_history) WHERE valid_to > following OR (valid_to IS NULL AND following IS NOT NULL)"
    )
    assert session.execute(overlaps).rows() == [(0,)]
    landed = "SELECT COUNT(*), COUNT(DISTINCT position) FROM customer_changes"
    assert session.execute(landed).rows() == [(source.position, source.position)]
    runs = (
        "SELECT DISTINCT name, state, scheduled_from "
        "FROM TABLE(INFORMATION_SCHEMA.TASK_HISTORY(DATABASE_NAME => CURRENT_DATABASE()))"
    )
    found = {tuple(row) for row in session.execute(runs).rows()}
    assert {("PARSE_CHANGES", "SUCCEEDED", "TRIGGER"), ("KEEP_HISTORY", "SUCCEEDED", "TRIGGER")} <= found
    assert not {state for _, state, _ in found} & {"FAILED", "FAILED_AND_AUTO_SUSPENDED", "CANCELLED"}
