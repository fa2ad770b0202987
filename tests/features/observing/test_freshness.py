"""Freshness, availability and drift in SQL."""

from __future__ import annotations

from datetime import timedelta

import deltalake
import pyarrow as pa

from snowmelt.core.clock import ManualClock
from snowmelt.features.observing.service import Observing
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition
from tests.features.observing.asking import rows_of
from tests.features.observing.scraping import scraped, value
from tests.support.waiting import wait_until

PROMISE = "CREATE DATA PRODUCT sales OBJECTS = (orders) FRESHNESS = '10 minutes' AVAILABILITY_TIER = 1"


def _offered(account: Account) -> Session:
    session = account.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute(PROMISE)
    session.execute("INSERT INTO orders VALUES (1)")
    return session


def test_a_product_is_fresh_then_breached_then_fresh_again(opened: Account, clock: ManualClock) -> None:
    session = _offered(opened)
    assert opened.services[Observing].check() == 30.0
    found = {row["NAME"]: row for row in rows_of(session, "FRESHNESS")}
    assert found["SALES"]["STATUS"] == "FRESH" and found["SALES"]["LIMIT_SEC"] == 600
    # Nothing is promised for the table, and it was not written often enough to have a usual interval.
    assert found["ORDERS"]["STATUS"] == "UNKNOWN"
    clock.advance(timedelta(minutes=15))
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=5))
    session.execute("INSERT INTO orders VALUES (2)")
    opened.services[Observing].check()
    history = [(row["STATUS"], row["DURATION_SEC"]) for row in rows_of(session, "FRESHNESS_HISTORY", name="sales")]
    # The breach began ten minutes after the insert, not when somebody looked.
    assert history == [("FRESH", 0), ("BREACHED", 600), ("FRESH", 600)]


def test_availability_by_tier_over_the_month(opened: Account, clock: ManualClock) -> None:
    session = _offered(opened)
    opened.services[Observing].check()
    clock.advance(timedelta(minutes=15))
    opened.services[Observing].check()
    session.execute("INSERT INTO orders VALUES (2)")
    opened.services[Observing].check()
    for _ in range(9):
        clock.advance(timedelta(minutes=9, seconds=30))
        session.execute("INSERT INTO orders VALUES (3)")
    (row,) = rows_of(session, "DATA_PRODUCT_AVAILABILITY")
    assert (row["TIER"], row["TARGET"], row["LOST_SEC"], row["MET"]) == (1, 0.999, 300, False)
    # 99.9 % of May leaves 44.6 minutes.
    assert row["ALLOWED_SEC"] == 2678
    assert abs(row["AVAILABILITY"] - (1 - 300 / (15 * 60 + 9 * 570))) < 0.001
    assert (
        abs(value(scraped(opened), "snowmelt_data_product_availability_ratio", name="SALES") - row["AVAILABILITY"])
        < 1e-6
    )
    assert rows_of(session, "DATA_PRODUCT_AVAILABILITY", month="2023-01-15") == []


def test_columns_that_another_tool_added_are_shown_as_a_diff(opened: Account) -> None:
    session = _offered(opened)
    assert rows_of(session, "SCHEMA_DRIFT_HISTORY") == []
    with opened.state.read() as state:
        (item,) = state.catalog.objects([ObjectKind.TABLE])
    assert isinstance(item.definition, TableDefinition)
    deltalake.write_deltalake(
        opened.store.root.uri_of(item.definition.location),
        pa.table({"ID": pa.array([7], pa.int64()), "NOTE": ["hello"]}),
        mode="append",
        schema_mode="merge",
    )
    session.execute("INSERT INTO orders VALUES (4)")
    (row,) = rows_of(session, "SCHEMA_DRIFT_HISTORY", name="orders")
    assert row["DIFF"] == "+ NOTE string"


def test_a_served_account_is_checked_by_itself(opened: Account) -> None:
    session = _offered(opened)
    opened.services[Observing].start()
    wait_until(lambda: rows_of(session, "FRESHNESS_HISTORY"), "nobody looked")
    opened.services[Observing].stop()
