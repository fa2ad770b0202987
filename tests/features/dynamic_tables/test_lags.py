"""Target lags as text, and how far behind a table was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from snowmelt.core.lag import parse_lag, show_lag
from snowmelt.core.names import ObjectName
from snowmelt.features.dynamic_tables.lags import measure
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshState, RefreshTrigger

T0 = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("1 second", 1, "1 second"),
        ("90 seconds", 90, "1 minute, 30 seconds"),
        ("1 minutes", 60, "1 minute"),
        (" 24 HOURS ", 86_400, "1 day"),
        ("25 hours", 90_000, "1 day, 1 hour"),
        ("2 days", 172_800, "2 days"),
        ("0 seconds", 0, "0 seconds"),
    ],
)
def test_a_lag_is_read_and_shown(text: str, seconds: int, shown: str) -> None:
    assert parse_lag(text) == seconds
    assert show_lag(seconds) == shown


@pytest.mark.parametrize("text", ["", "5", "minutes", "1 fortnight", "-1 seconds", "1.5 hours", "1 minute 2 seconds"])
def test_what_is_no_lag(text: str) -> None:
    assert parse_lag(text) is None


def done(timestamp: int, ended: int) -> DynamicRefresh:
    return DynamicRefresh(
        id=str(timestamp), table_id="d", name=ObjectName("A", "B", "C"), state=RefreshState.SUCCEEDED,
        data_timestamp=T0 + timedelta(seconds=timestamp), ended_at=T0 + timedelta(seconds=ended),
        trigger=RefreshTrigger.SCHEDULED,
    )  # fmt: skip


def test_the_lag_grows_until_the_next_refresh_ends() -> None:
    found = measure([done(0, 10), done(60, 70)], target=40, now=T0 + timedelta(seconds=100))
    assert found is not None
    # From 10 s to 70 s behind within a minute, then from 10 s to 40 s within half of one.
    assert found.maximum == 70
    assert found.mean == pytest.approx((60 * 40 + 30 * 25) / 90)
    assert found.above_target == 30
    assert found.within_ratio == pytest.approx(1 - 30 / 90)


def test_without_a_refresh_there_is_no_lag() -> None:
    assert measure([], 60, T0) is None
    found = measure([done(0, 5)], None, T0 + timedelta(seconds=5))
    assert found is not None and (found.mean, found.above_target) == (5, None)
