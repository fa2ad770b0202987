"""The account's clock when the machine's is set."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from snowmelt.core.clock import ManualClock, SteadyClock

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_time_goes_on_when_the_clock_is_set_back() -> None:
    below = ManualClock(START)
    with patch.object(time, "monotonic", side_effect=[0.0, 10.0, 25.0, 40.0]):
        clock = SteadyClock(below)
        below.advance(-HOUR)
        assert [clock.now() - START, clock.now() - START] == [timedelta(seconds=10), timedelta(seconds=25)]
        below.advance(2 * HOUR)
        assert clock.now() == START + HOUR
    assert clock.of_machine() == START + HOUR


def test_time_begins_behind_the_last_commit() -> None:
    clock = SteadyClock(ManualClock(START))
    clock.not_before(START + HOUR)
    assert START + HOUR <= clock.now() < START + 2 * HOUR
