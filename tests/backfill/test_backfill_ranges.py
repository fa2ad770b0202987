"""Chunks: every value of the range is in exactly one of them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.backfill.ranges import RangeColumn, cut_at, cut_keys, even_edges
from snowmelt.backfill.rates import BackfillRate, measured
from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError

NUMBER = RangeColumn("ID", types.number(10, 2))
DAY = RangeColumn("DAY", types.DATE)
MOMENT = RangeColumn("AT", types.TIMESTAMP_NTZ)
NUMBERS = st.decimals(min_value=-50, max_value=50, places=2)


def holding(chunks: list[str], value: str) -> int:
    """For how many chunks the row is inside."""
    tests = " + ".join(f"({chunk})::INT".replace("::TIMESTAMP_NTZ", "::TIMESTAMP") for chunk in chunks)
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {tests} FROM (SELECT {value})").fetchone()
    assert found is not None
    return int(found[0])


@settings(deadline=None)
@given(NUMBERS, NUMBERS, st.lists(NUMBERS, max_size=6), NUMBERS)
def test_numbers(low: Decimal, high: Decimal, edges: list[Decimal], value: Decimal) -> None:
    if not low < high:
        return
    chunks = cut_at(NUMBER, low, high, edges)
    assert holding(chunks, f"{value}::DECIMAL(10,2) AS ID") == (low <= value < high)


@settings(deadline=None)
@given(st.dates(date(2026, 1, 1), date(2026, 3, 1)), st.integers(1, 40), st.integers(1, 9), st.integers(-3, 50))
def test_dates(low: date, length: int, days: int, offset: int) -> None:
    high = low + timedelta(days=length)
    chunks = cut_at(DAY, low, high, even_edges(DAY, low, high, f"{days} days"))
    assert len(chunks) == -(-length // days)
    value = low + timedelta(days=offset)
    assert holding(chunks, f"'{value}'::DATE AS DAY") == (low <= value < high)


def test_timestamps() -> None:
    low, high = datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 12, 30)
    chunks = cut_at(MOMENT, low, high, even_edges(MOMENT, low, high, "1 hour"))
    assert chunks[-1] == ("AT >= '2026-01-01 12:00:00'::TIMESTAMP_NTZ AND AT < '2026-01-01 12:30:00'::TIMESTAMP_NTZ")
    assert len(chunks) == 3


def test_keys_are_in_one_chunk_each() -> None:
    chunks = cut_keys(NUMBER, ["1", " 2 ", "1", "1.0", "3"], size=2)
    assert [holding(chunks, f"{value}::DECIMAL(10,2) AS ID") for value in (1, 2, 3, 4)] == [1, 1, 1, 0]
    assert cut_keys(RangeColumn("K", types.VARCHAR), ["it's"]) == ["K IN ('it''s')"]


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: DAY.bound("x"), "not a value of DAY"),
        (lambda: RangeColumn("K", types.VARCHAR).bound("x"), "needs a date"),
        (lambda: even_edges(DAY, date(2026, 1, 1), date(2026, 2, 1), "6 hours"), "whole days"),
        (lambda: even_edges(DAY, date(2026, 1, 1), date(2026, 2, 1), "often"), "length of time"),
        (lambda: even_edges(NUMBER, Decimal(0), Decimal(10**9), "1"), "at most"),
        (lambda: even_edges(NUMBER, Decimal(0), Decimal(9), "-1"), "length of a chunk"),
        (lambda: cut_keys(NUMBER, ["", " "]), "is empty"),
        (lambda: NUMBER.bound("NaN"), "not a value of ID"),
        (lambda: NUMBER.bound("Infinity"), "not a value of ID"),
        (lambda: MOMENT.bound("2026-01-01 10:00:00+01:00"), "has a time zone, and AT"),
    ],
)
def test_what_is_no_range(work, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SnowmeltError, match=words):
        work()


def test_rates_come_from_earlier_chunks() -> None:
    assert measured([], "T") == BackfillRate()

    def run(table: str, *chunks: tuple[int | None, float]) -> list[dict[str, object]]:
        done = [{"event": "chunk_done", "rows": rows, "seconds": seconds} for rows, seconds in chunks]
        return [{"event": "backfill", "table": table}, *done]

    others = run("OTHER", (100, 2.0), (300, 4.0))
    assert measured([others], "T").basis == "measured on 2 chunks of other tables"
    mine = measured([others, run("T", (100, 1.0), (900, 10.0), (None, 99.0))], "T")
    assert mine.basis == "measured on 2 chunks of this table"
    assert mine.seconds(1000, 2) == pytest.approx(11.0)
