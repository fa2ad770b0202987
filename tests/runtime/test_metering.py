"""When a warehouse is up, and what that costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.metering import hourly
from snowmelt.state.model import Warehouse, WarehouseState
from snowmelt.state.store import StateStore
from tests.support.waiting import wait_until

START = datetime(2026, 1, 1, 10, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def account(tmp_path: Path, clock: ManualClock) -> Iterator[Account]:
    with open_account(tmp_path, clock=clock) as opened:
        yield opened


def _warehouse(account: Account, name: str = "W") -> Warehouse:
    with account.state.read() as state:
        found = state.warehouses.get(name)
    assert found is not None
    return found


def _use(account: Account, clock: ManualClock, seconds: int, name: str = "W") -> None:
    id, _ = account.metering.begin(name)
    clock.advance(timedelta(seconds=seconds))
    account.metering.end(id)


def _credits(account: Account, clock: ManualClock, name: str = "W") -> Decimal:
    spans = account.metering.spans(START - timedelta(days=1), clock.now())
    spent = hourly(spans, START - timedelta(days=1), clock.now() + timedelta(hours=1))
    # The store's clock ticks on by microseconds even where the test's stands still.
    return round(sum((value for (_, called), value in spent.items() if called == name), Decimal(0)), 6)


def _define(account: Account, options: str) -> None:
    account.session().execute(f"CREATE WAREHOUSE w INITIALLY_SUSPENDED = TRUE {options}")


def test_it_is_up_from_the_first_use_until_it_was_idle_long_enough(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 300")
    assert account.metering.state_of(_warehouse(account)) is WarehouseState.SUSPENDED
    _use(account, clock, 100)
    assert account.metering.state_of(_warehouse(account)) is WarehouseState.STARTED
    clock.advance(timedelta(seconds=299))
    assert account.metering.state_of(_warehouse(account)) is WarehouseState.STARTED
    clock.advance(timedelta(seconds=1))
    assert account.metering.state_of(_warehouse(account)) is WarehouseState.SUSPENDED
    clock.advance(timedelta(hours=5))
    assert _credits(account, clock) == (Decimal(400) / 3600).quantize(Decimal("1e-6"))
    # Use within the time extends it; use after it is another start.
    _use(account, clock, 10)
    assert _warehouse(account).state is WarehouseState.STARTED
    clock.advance(timedelta(seconds=200))
    _use(account, clock, 10)
    clock.advance(timedelta(hours=1))
    assert _credits(account, clock) == (Decimal(400 + 520) / 3600).quantize(Decimal("1e-6"))


def test_a_start_costs_a_minute_at_least(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 5 WAREHOUSE_SIZE = LARGE")
    _use(account, clock, 1)
    clock.advance(timedelta(hours=1))
    assert _credits(account, clock) == (8 * Decimal(60) / 3600).quantize(Decimal("1e-6"))


def test_a_statement_that_runs_keeps_it_up(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 60")
    id, pool = account.metering.begin("W")
    assert pool.startswith("X-Small")
    clock.advance(timedelta(hours=2))
    assert account.metering.state_of(_warehouse(account)) is WarehouseState.STARTED
    account.metering.end(id)
    clock.advance(timedelta(hours=2))
    assert _credits(account, clock) == (Decimal(7200 + 60) / 3600).quantize(Decimal("1e-6"))


def test_another_size_costs_from_then_on(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 0")
    session = account.session(warehouse="W")
    _use(account, clock, 1800)
    session.execute("ALTER WAREHOUSE w SET WAREHOUSE_SIZE = MEDIUM")
    clock.advance(timedelta(seconds=900))
    session.execute("ALTER WAREHOUSE w SUSPEND")
    clock.advance(timedelta(hours=9))
    assert _credits(account, clock) == Decimal("0.5") + Decimal("1")


def test_down_and_not_coming_up_by_itself(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_RESUME = FALSE AUTO_SUSPEND = 60")
    with pytest.raises(SnowmeltError, match="No active warehouse selected"):
        account.metering.begin("W")
    session = account.session(warehouse="W")
    session.execute("ALTER WAREHOUSE RESUME")
    _use(account, clock, 1)
    clock.advance(timedelta(seconds=61))
    with pytest.raises(SnowmeltError, match="No active warehouse selected"):
        account.metering.begin("W")
    with pytest.raises(SnowmeltError, match="No active warehouse selected"):
        account.metering.begin(None)


def test_hours_are_charged_where_they_are(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 0")
    clock.advance(timedelta(minutes=45))
    _use(account, clock, 60)
    clock.advance(timedelta(minutes=89))
    account.session(warehouse="W").execute("ALTER WAREHOUSE SUSPEND")
    spans = account.metering.spans(START, clock.now())
    spent = hourly(spans, START, clock.now())
    assert {hour.hour: round(value, 6) for (hour, _), value in spent.items()} == {
        10: Decimal("0.25"), 11: Decimal("1"), 12: Decimal("0.25"),
    }  # fmt: skip
    assert len(hourly(spans, START + timedelta(hours=1), START + timedelta(hours=2))) == 1


def test_costs_survive_a_restart(tmp_path: Path, clock: ManualClock) -> None:
    with open_account(tmp_path, clock=clock) as account:
        _define(account, "AUTO_SUSPEND = 0")
        account.session().execute("CREATE WAREHOUSE always AUTO_RESUME = FALSE AUTO_SUSPEND = 0")
        _use(account, clock, 600)
    clock.advance(timedelta(hours=10))
    with open_account(tmp_path, clock=clock) as account:
        assert _credits(account, clock) == (Decimal(600) / 3600).quantize(Decimal("1e-6"))
        assert account.metering.state_of(_warehouse(account)) is WarehouseState.SUSPENDED
        # It can't come up by itself, so a restart must not leave it down.
        assert account.metering.state_of(_warehouse(account, "ALWAYS")) is WarehouseState.STARTED
        account.metering.begin("ALWAYS")


def test_a_failed_change_leaves_the_meter_as_it_was(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 0")
    _use(account, clock, 60)
    with pytest.raises(ZeroDivisionError), account.metering.changing() as state:
        account.metering.down(state, _warehouse(account))
        raise ZeroDivisionError
    assert account.metering.state_of(_warehouse(account)) is WarehouseState.STARTED
    clock.advance(timedelta(seconds=60))
    account.session(warehouse="W").execute("ALTER WAREHOUSE SUSPEND")
    assert _credits(account, clock) == (Decimal(120) / 3600).quantize(Decimal("1e-6"))


def test_the_last_use_is_saved_and_no_statement_waits_for_it(account: Account, clock: ManualClock) -> None:
    _define(account, "AUTO_SUSPEND = 0")
    _use(account, clock, 1)
    own, begin = threading.current_thread(), StateStore.begin

    def elsewhere(self: StateStore, *given: Any, **named: Any) -> Any:
        assert threading.current_thread() is not own, "a statement wrote to the state store"
        return begin(self, *given, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StateStore, "begin", elsewhere)
        _use(account, clock, 60)

    def saved() -> datetime:
        with account.state.read() as state:
            (span,) = state.usage.open()
        return span.last_used_at

    wait_until(lambda: saved() >= clock.now(), lambda: f"{saved()} at {clock.now()}")
