"""How often a table is refreshed so that its lag stays within its target.

Periods are 48 · 2ⁿ seconds, n from -9 on, counted from one epoch. Each tick of a period is a tick of all shorter ones,
so tables with different lags meet on the same instants, and what they read is refreshed once for all of them.

All times here are whole microseconds; the shortest period is a whole number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

GRAIN = 48_000_000 >> 9
"""The shortest period, 93.75 ms: fine enough to meet a lag of one second with refreshes of nearly half a second."""

HEADROOM_PERCENT = 125
"""A refresh is expected to take at most this much of the longest recent one."""

UNMEASURED = 1_000_000
"""What a refresh is expected to take before one was measured."""


def micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND


def instant(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=at)


def tick_at_or_before(at: int, period: int) -> int:
    return at - at % period


def tick_after(at: int, period: int) -> int:
    return at - at % period + period


def expected_duration(recent: Sequence[timedelta]) -> int:
    if not recent:
        return UNMEASURED
    return max(recent) // MICROSECOND * HEADROOM_PERCENT // 100


def refresh_period(lag: int, completion: int) -> int:
    """The longest period that keeps the lag, for a table that is complete `completion` after a tick.

    Just before a refresh is complete, the lag is the time since the last one's tick plus `completion`. The best period
    is at least `completion`, so that no refresh meets its predecessor. Where no such period is short enough, a shorter
    one is counted in multiples. Where refreshes take more than half the lag nothing helps; then try twice per lag.
    """
    slack = lag - completion
    period = _longest_within(slack)
    while period >= GRAIN:
        if slack // period * period >= completion:
            return period
        period //= 2
    return max(_longest_within(lag // 2), GRAIN)


def due_tick(stands_at: int, lag: int, completion: int, period: int) -> int:
    """The last tick at which a refresh can start and be complete before data of `stands_at` is older than `lag`."""
    return tick_after(max(stands_at + lag - completion - period, stands_at), period)


def _longest_within(limit: int) -> int:
    """The longest period not above `limit`; 0 if even the shortest is."""
    steps = limit // GRAIN
    return GRAIN << (steps.bit_length() - 1) if steps > 0 else 0
