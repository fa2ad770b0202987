"""Eight dynamic tables in four levels, with diamonds, while several sessions write: right at every data timestamp."""

from __future__ import annotations

import json
import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.dynamic_tables import group
from snowmelt.features.dynamic_tables.recording import RefreshOutcome
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshAction, RefreshState, RefreshTrigger
from snowmelt.state.model import CatalogObject

BASES = ("orders", "customers", "items")
GRAPH = {
    "paid": ("DOWNSTREAM", "SELECT id, customer, amount FROM orders WHERE amount > 0"),
    "latest": (
        "DOWNSTREAM",
        "SELECT id, region FROM customers QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY seq DESC) = 1",
    ),
    "placed": (
        "DOWNSTREAM",
        "SELECT paid.id, paid.amount, latest.id AS customer, latest.region"
        " FROM paid LEFT JOIN latest ON paid.customer = latest.id",
    ),
    "spent": (
        "'2 seconds'",
        "SELECT customer, SUM(amount) AS total, COUNT(*) AS n, MAX(amount) AS most FROM paid GROUP BY customer",
    ),
    "contents": ("DOWNSTREAM", "SELECT paid.id, items.sku, items.n FROM paid JOIN items ON items.order_id = paid.id"),
    "regions": (
        "DOWNSTREAM",
        "SELECT placed.region, SUM(placed.amount) AS amount, COUNT(DISTINCT spent.customer) AS customers,"
        " MAX(spent.total) AS best FROM placed LEFT JOIN spent ON spent.customer = placed.customer"
        " GROUP BY placed.region",
    ),
    "sold": ("DOWNSTREAM", "SELECT sku, SUM(n) AS n, COUNT(*) AS lines FROM contents GROUP BY sku"),
    "summary": (
        "'1 second'",
        "SELECT region, amount, customers, best, (SELECT SUM(n) FROM sold) AS sold,"
        " (SELECT COUNT(*) FROM placed) AS placed FROM regions",
    ),
}
"""`paid` reaches `regions` by two ways and `summary` by three."""
LEVELS = (("paid", "latest"), ("placed", "spent", "contents"), ("regions", "sold"), ("summary",))
DEADLOCK = "000625"


def at(instant: datetime) -> str:
    return f"AT (TIMESTAMP => '{instant.isoformat()}'::TIMESTAMP_TZ)"


def expanded(name: str, instant: datetime | None) -> str:
    """The table's query over the base tables alone, as they were at an instant."""
    above = list(GRAPH)[: list(GRAPH).index(name) + 1]
    parts = [f"{base}_then AS (SELECT * FROM {base} {at(instant) if instant else ''})" for base in BASES]
    for table in above:
        query = GRAPH[table][1]
        for base in BASES:
            query = query.replace(f"FROM {base}", f"FROM {base}_then AS {base}")
            query = query.replace(f"JOIN {base}", f"JOIN {base}_then AS {base}")
        parts.append(f"{table} AS ({query})")
    return f"WITH {', '.join(parts)} SELECT * FROM {name}"


class Writer(threading.Thread):
    """One session that writes at random until it is told to stop."""

    def __init__(self, account: Account, database: str, number: int, stop: threading.Event) -> None:
        super().__init__()
        self._session = account.session()
        self._session.execute(f"USE DATABASE {database}")
        self._rnd = random.Random(number)
        self._stopping = stop
        self._next = number * 10_000
        self.written = 0
        self.failure: str | None = None

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._write()
        except Exception:
            self.failure = traceback.format_exc()
        finally:
            self._session.close()

    def _write(self) -> None:
        kinds: tuple[Callable[[], list[str]], ...] = (
            self._order,
            self._order,
            self._customer,
            self._update,
            self._gone,
        )
        statements = self._rnd.choice(kinds)()
        try:
            for statement in ["BEGIN", *statements, self._rnd.choice(["COMMIT"] * 9 + ["ROLLBACK"])]:
                self._session.execute(statement)
            self.written += 1
        except SnowmeltError as error:
            self._session.execute("ROLLBACK")
            if error.code != DEADLOCK:
                raise

    def _order(self) -> list[str]:
        """With its items: nobody may see one without the others."""
        self._next += 1
        rnd = self._rnd
        items = ", ".join(f"({self._next}, 's{rnd.randint(1, 4)}', {rnd.randint(1, 3)})" for _ in range(2))
        amount = rnd.choice((-1, 0, 5, 7, 7, 20))
        return [
            f"INSERT INTO orders VALUES ({self._next}, {rnd.randint(1, 6)}, {amount})",
            f"INSERT INTO items VALUES {items}",
        ]

    def _customer(self) -> list[str]:
        self._next += 1
        region = self._rnd.choice(("'north'", "'south'", "NULL"))
        return [f"INSERT INTO customers VALUES ({self._rnd.randint(1, 7)}, {region}, {self._next})"]

    def _update(self) -> list[str]:
        rnd = self._rnd
        assigned = rnd.choice((f"amount = amount + {rnd.randint(-9, 9)}", f"customer = {rnd.randint(1, 6)}"))
        return [f"UPDATE orders SET {assigned} WHERE MOD(id, 11) = {rnd.randint(0, 10)}"]

    def _gone(self) -> list[str]:
        rest = self._rnd.randint(0, 12)
        return [f"DELETE FROM orders WHERE MOD(id, 13) = {rest}", f"DELETE FROM items WHERE MOD(order_id, 13) = {rest}"]


def create(session: Session) -> None:
    session.execute("CREATE TABLE orders (id INT, customer INT, amount INT)")
    session.execute("CREATE TABLE customers (id INT, region VARCHAR, seq INT)")
    session.execute("CREATE TABLE items (order_id INT, sku VARCHAR, n INT)")
    session.execute("INSERT INTO orders VALUES (1, 1, 5), (2, 1, 7), (3, 2, 7), (4, NULL, 1)")
    session.execute("INSERT INTO customers VALUES (1, 'north', 1), (2, 'south', 1), (1, 'south', 2)")
    session.execute("INSERT INTO items VALUES (1, 's1', 2), (1, 's2', 1), (3, 's1', 1)")
    for name, (lag, query) in GRAPH.items():
        session.execute(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = {lag} WAREHOUSE = COMPUTE_WH AS {query}")


@contextmanager
def writing(account: Account, session: Session, sessions: int) -> Iterator[list[Writer]]:
    stop = threading.Event()
    assert session.database is not None
    writers = [Writer(account, session.database, number, stop) for number in range(1, sessions + 1)]
    for writer in writers:
        writer.start()
    try:
        yield writers
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert not any(writer.failure for writer in writers), [writer.failure for writer in writers]
    assert all(writer.written for writer in writers)


def refreshes(account: Account, session: Session) -> list[DynamicRefresh]:
    """The finished ones of this graph."""
    begin = datetime.fromisoformat("2000-01-01T00:00:00+00:00")
    with account.state.read() as state:
        found = state.dynamic.refreshes(begin, account.clock.now())
    own = [row for row in found if row.name.database == session.database]
    assert all(row.state not in (RefreshState.FAILED, RefreshState.UPSTREAM_FAILED) for row in own), own
    return [row for row in own if row.state is RefreshState.SUCCEEDED]


def work(account: Account, session: Session, rounds: int, seconds: float) -> None:
    """Lets the scheduler refresh, and refreshes by hand, until both did so many rounds."""
    rnd = random.Random(rounds)
    until = time.monotonic() + seconds
    account.services[DynamicTables].start()
    try:
        for _ in range(rounds):
            session.execute(f"ALTER DYNAMIC TABLE {rnd.choice(list(GRAPH))} REFRESH")
        while scheduled_rounds(account, session) < rounds and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        account.services[DynamicTables].stop(60)
    assert scheduled_rounds(account, session) >= rounds


def scheduled_rounds(account: Account, session: Session) -> int:
    """How often the scheduler brought the last level to new data."""
    return sum(
        row.name.name == "SUMMARY"
        and row.trigger is RefreshTrigger.SCHEDULED
        and row.action is not RefreshAction.NO_DATA
        for row in refreshes(account, session)
    )


def counted(session: Session, query: str) -> Counter[Any]:
    return Counter(session.execute(query).rows())


def check_history(account: Account, session: Session, rnd: random.Random, most: int) -> None:
    """Tables as they were at random data timestamps, against their queries over the base tables at these."""
    rows = [row for row in refreshes(account, session) if row.action is not RefreshAction.NO_DATA]
    timestamps = sorted({row.data_timestamp for row in rows if row.name.name == "SUMMARY"})
    for instant in rnd.sample(timestamps, min(most, len(timestamps))):
        together = {row.name.name.lower(): row for row in rows if row.data_timestamp == instant}
        for name, row in together.items():
            assert row.ended_at is not None
            have = counted(session, f"SELECT * FROM {name} {at(row.ended_at)}")
            assert have == counted(session, expanded(name, instant)), (name, instant, row)


def check_now(account: Account, session: Session) -> None:
    graph = account.services[DynamicTables].graph()
    for node in graph.nodes.values():
        if node.table.name.database != session.database:
            continue
        name = node.table.name.name.lower()
        verdict = json.loads(session.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{name}')").rows()[0][0])
        assert verdict["equal"], verdict
        assert node.state.data_timestamp is not None
        have, want = (
            counted(session, f"SELECT * FROM {name}"),
            counted(session, expanded(name, node.state.data_timestamp)),
        )
        assert have == want, (name, node.state.data_timestamp)


def finish(account: Account, session: Session) -> None:
    """One more refresh by hand, of the leaf and so of all: everything is as new as the base tables."""
    session.execute("ALTER DYNAMIC TABLE summary REFRESH")
    assert len({row.data_timestamp for row in refreshes(account, session)[: len(GRAPH)]}) == 1
    for name in GRAPH:
        assert counted(session, f"SELECT * FROM {name}") == counted(session, expanded(name, None)), name


@pytest.mark.slow
def test_a_graph_is_right_while_sessions_write(session: Session, account: Account) -> None:
    create(session)
    with writing(account, session, 2):
        work(account, session, rounds=2, seconds=200)
    check_history(account, session, random.Random(1), 1)
    check_now(account, session)


def test_a_table_that_others_bring_beyond_the_data_timestamp(
    session: Session, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads it and others can't mix its rows for another instant with theirs."""
    session.execute("CREATE TABLE s (n INT)")
    session.execute("INSERT INTO s VALUES (1)")
    for name, query in (
        ("a", "SELECT n FROM s"),
        ("b", "SELECT COUNT(*) AS n FROM s"),
        ("c", "SELECT (SELECT COUNT(*) FROM a) AS by_rows, n FROM b"),
    ):
        session.execute(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS {query}")
    ids = {node.table.name.name: node.table.id for node in account.services[DynamicTables].graph().nodes.values()}
    refresh = group.refresh_table

    def overtaken(owner: Account, table: CatalogObject, *rest: Any, **options: Any) -> RefreshOutcome:
        if table.id == ids["B"]:
            monkeypatch.setattr(group, "refresh_table", refresh)
            account.services[DynamicTables].refresh([table.id], RefreshTrigger.MANUAL)
        return refresh(owner, table, *rest, **options)

    session.execute("INSERT INTO s VALUES (2)")
    monkeypatch.setattr(group, "refresh_table", overtaken)
    session.execute("ALTER DYNAMIC TABLE c REFRESH")
    assert session.execute("SELECT by_rows, n FROM c").rows() == [(2, 2)]


@pytest.mark.slow
def test_a_graph_is_right_at_many_data_timestamps(session: Session, account: Account) -> None:
    assert sum(map(len, LEVELS)) == len(GRAPH) == 8
    create(session)
    with writing(account, session, 4):
        work(account, session, rounds=6, seconds=240)
    check_now(account, session)
    check_history(account, session, random.Random(2), 4)
    finish(account, session)
