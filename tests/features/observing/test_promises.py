"""What a promise counts: from when it was made, only rows as updates, and a product that is gone as lost."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.features.observing.service import Observing
from snowmelt.observe.freshness import usual_interval
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshState, RefreshTrigger
from snowmelt.state.model import CatalogObject, ObjectKind
from tests.features.observing.asking import rows_of
from tests.features.observing.conftest import START
from tests.runtime.transactions.seeing import seen, their_table, they_append, visible

PROMISE = "CREATE DATA PRODUCT sales OBJECTS = (orders) FRESHNESS = '10 minutes' AVAILABILITY_TIER = 1"


def standing(session: Session, name: str) -> dict[str, object]:
    return next(row for row in rows_of(session, "FRESHNESS") if row["NAME"] == name)


def measured(session: Session) -> tuple[object, object]:
    (row,) = rows_of(session, "DATA_PRODUCT_AVAILABILITY")
    return round(row["AVAILABILITY"], 4), row["LOST_SEC"]


def test_time_before_the_promise_is_not_lost(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("INSERT INTO orders VALUES (1)")
    clock.advance(timedelta(days=3))
    session.execute(PROMISE)
    clock.advance(timedelta(minutes=1))
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=1))
    assert measured(session) == (0.0, 120), "late from its first second, and not one before it"


def test_a_stricter_promise_holds_from_when_it_is_made(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("INSERT INTO orders VALUES (1)")
    session.execute(PROMISE.replace("10 minutes", "2 hours"))
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=60))
    session.execute("ALTER DATA PRODUCT sales SET FRESHNESS = '10 minutes'")
    clock.advance(timedelta(minutes=1))
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=1))
    assert measured(session)[1] == 120


def test_a_product_whose_table_is_dropped_is_not_available(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute_script("CREATE TABLE orders (id INT); INSERT INTO orders VALUES (1)")
    session.execute_script("CREATE VIEW seen AS WITH o AS (SELECT * FROM orders) SELECT * FROM o")
    session.execute(PROMISE)
    session.execute(PROMISE.replace("sales", "views").replace("(orders)", "(seen)"))
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=5))
    session.execute("DROP TABLE orders")
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=5))
    rows = {row["NAME"]: row for row in rows_of(session, "DATA_PRODUCT_AVAILABILITY")}
    assert {name: row["LOST_SEC"] for name, row in rows.items()} == {"SALES": 300, "VIEWS": 300}
    assert standing(session, "SALES")["STATUS"] == "BREACHED"
    session.execute("UNDROP TABLE orders")
    opened.services[Observing].check()
    assert standing(session, "SALES")["STATUS"] == "FRESH"


def test_a_product_that_is_dropped_is_measured_until_then(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute_script("CREATE TABLE orders (id INT); INSERT INTO orders VALUES (1)")
    session.execute(PROMISE)
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=20))
    opened.services[Observing].check()
    session.execute("DROP DATA PRODUCT sales")
    opened.services[Observing].check()
    clock.advance(timedelta(hours=5))
    assert measured(session)[1] == 600


NO_ROWS = (
    "ALTER TABLE orders ADD COLUMN note VARCHAR",
    "ALTER TABLE orders SET COMMENT = 'x'",
    "ALTER TABLE orders DROP COLUMN id2",
    "BEGIN; INSERT INTO orders (id) VALUES (7); ROLLBACK",
    "UPDATE orders SET id = 5 WHERE FALSE",
    "DELETE FROM orders WHERE FALSE",
)


@pytest.mark.parametrize("statement", NO_ROWS)
def test_only_rows_are_updates(opened: Account, clock: ManualClock, statement: str) -> None:
    session = opened.session()
    session.execute_script("CREATE TABLE orders (id INT, id2 INT); INSERT INTO orders VALUES (1, 1)")
    at = standing(session, "ORDERS")["LAST_UPDATED"]
    clock.advance(timedelta(hours=1))
    session.execute_script(statement)
    assert standing(session, "ORDERS")["LAST_UPDATED"] == at
    session.execute("INSERT INTO orders (id) VALUES (2)")
    assert standing(session, "ORDERS")["LAST_UPDATED"] != at


def test_what_other_tools_write_is_an_update_only_if_rows_change(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    for number in range(3):
        session.execute(f"INSERT INTO orders VALUES ({number})")
    at = standing(session, "ORDERS")["LAST_UPDATED"]
    clock.advance(timedelta(hours=1))
    their_table(opened, "ORDERS").optimize.compact()
    their_table(opened, "ORDERS").alter.set_table_properties({"delta.logRetentionDuration": "interval 3 days"})
    assert seen(session, "ORDERS") == [[0, 1, 2]]
    assert standing(session, "ORDERS")["LAST_UPDATED"] == at
    assert visible(opened, "ORDERS").foreign
    clock.advance(timedelta(hours=1))
    their_table(opened, "ORDERS").optimize.compact()
    they_append(opened, "ORDERS", 7)
    assert seen(session, "ORDERS") == [[0, 1, 2, 7]]
    assert standing(session, "ORDERS")["LAST_UPDATED"] == visible(opened, "ORDERS").committed_at


def test_an_empty_table_was_never_updated(opened: Account) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    assert standing(session, "ORDERS")["LAST_UPDATED"] is None


def test_a_burst_is_one_update(opened: Account, clock: ManualClock) -> None:
    """Many commits an hour apart: ten minutes after the last one nobody has to be warned."""
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    for burst in range(4):
        clock.advance(timedelta(hours=1) if burst else timedelta())
        for _ in range(15):
            session.execute("INSERT INTO orders VALUES (1)")
            clock.advance(timedelta(seconds=1))
    clock.advance(timedelta(minutes=10))
    assert standing(session, "ORDERS")["STATUS"] == "FRESH"
    clock.advance(timedelta(minutes=90))
    assert standing(session, "ORDERS")["STATUS"] == "WARNING"


def instants(*seconds: float) -> list[datetime]:
    return [START + timedelta(seconds=each) for each in seconds]


def test_what_is_usual() -> None:
    assert usual_interval(instants(0, 60, 120, 180), regular=True) == 60
    assert usual_interval(instants(0, 1, 2, 3600, 3601, 7200, 7201, 10800), regular=False) == 3599
    assert usual_interval(instants(0, 1, 2, 3, 4, 3600), regular=False) is None, "one pause is no habit"


def refreshed(account: Account, table: CatalogObject, at: datetime, seconds: float) -> None:
    """As a refresh leaves it, for the data timestamp `at`."""
    row = DynamicRefresh(
        id=f"r{at.timestamp()}", table_id=table.id, name=table.name, state=RefreshState.SUCCEEDED, data_timestamp=at,
        started_at=at, ended_at=at + timedelta(seconds=seconds), trigger=RefreshTrigger.SCHEDULED,
    )  # fmt: skip
    with account.state.begin() as state:
        state.dynamic.record_refresh(row)
        state.dynamic.change(table.id, data_timestamp=at)
    account.events.refresh_ended(row)


@pytest.mark.parametrize(
    ("refreshes", "took", "on_time", "late"),
    [
        pytest.param([0, 10, 20, 30], 1.0, 85, None, id="by hand, one after the other, and then by the lag of 90 s"),
        pytest.param([0, 48, 96, 144, 192], 30.0, 88, None, id="every 48 s, and each takes 30 s"),
        pytest.param([0, 48, 96, 144, 192], 0.5, 70, 80, id="every 48 s, at once"),
    ],
)
def test_a_dynamic_table_is_on_time_until_its_next_refresh_is_due(
    opened: Account, clock: ManualClock, refreshes: list[int], took: float, on_time: int, late: int | None
) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '90 seconds' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE"
        " AS SELECT id FROM orders"
    )
    with opened.state.read() as state:
        table = next(item for item in state.catalog.objects([ObjectKind.TABLE]) if item.name.name == "D")
    period = 48
    begin = START + timedelta(seconds=period - START.timestamp() % period)
    for second in refreshes:
        refreshed(opened, table, begin + timedelta(seconds=second), took)
    last = begin + timedelta(seconds=refreshes[-1])
    clock.advance(last + timedelta(seconds=on_time) - START)
    assert standing(session, "D")["STATUS"] == "FRESH"
    if late is not None:
        clock.advance(timedelta(seconds=late - on_time))
        assert standing(session, "D")["STATUS"] == "WARNING"
