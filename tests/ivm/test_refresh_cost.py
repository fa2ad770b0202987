"""The choice between changes and a full refresh: what it must and must not do, whatever was measured."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snowmelt.ivm.cost import (
    ASSUMED_RATES,
    ComputeEngine,
    EngineRate,
    EngineRates,
    Measured,
    RefreshEstimate,
    Work,
    estimate,
)

_TIMES = st.floats(1, 1e7)
_ROWS = st.integers(0, 10**9)


def test_nothing_is_known_yet() -> None:
    assert estimate(Work(1, 100), Measured()) is None


@given(full=_TIMES, source=_ROWS, changed=st.integers(0, 10_000))
def test_a_few_rows_never_ask_for_a_full_refresh_that_takes_long(full: float, source: int, changed: int) -> None:
    expected = estimate(Work(changed, source), Measured(full_ms=full, full_rows=source))
    assert expected is not None
    assert not expected.prefers_full


@given(source=st.integers(100_000, 10**9))
def test_half_of_the_rows_changed_is_a_full_refresh(source: int) -> None:
    expected = estimate(Work(source // 2, source), Measured(full_ms=20_000, full_rows=source))
    assert expected is not None
    assert expected.prefers_full


def test_many_changes_of_a_cheap_query_are_a_full_refresh() -> None:
    """A filter and a sum over six million rows take a second; to read 700,000 changes takes longer."""
    expected = estimate(Work(700_000, 6_000_000), Measured(1_000, 6_000_000, 200, 7_000))
    assert expected is not None
    assert expected.prefers_full


@given(full=_TIMES, incremental=_TIMES, source=_ROWS, rows=_ROWS, less=_ROWS, more=_ROWS)
def test_more_changes_never_look_cheaper(
    full: float, incremental: float, source: int, rows: int, less: int, more: int
) -> None:
    less, more = sorted((less, more))
    measured = Measured(full, source, incremental, rows)
    few, many = (estimate(Work(changed, source), measured) for changed in (less, more))
    assert few is not None
    assert many is not None
    assert few.incremental_ms <= many.incremental_ms * (1 + 1e-9)
    assert few.full_ms == many.full_ms


@given(full=_TIMES, slow=st.floats(1.2, 100), rows=st.integers(1, 10**6))
def test_what_was_measured_to_be_slower_is_not_done_again(full: float, slow: float, rows: int) -> None:
    expected = estimate(Work(rows, rows * 10), Measured(full, rows * 10, full * slow + 1_000, rows))
    assert expected is not None
    assert expected.prefers_full


def test_a_difference_that_measuring_can_not_tell_does_not_decide() -> None:
    assert not RefreshEstimate(full_ms=200, incremental_ms=600).prefers_full
    assert not RefreshEstimate(full_ms=60_000, incremental_ms=62_000).prefers_full
    assert RefreshEstimate(full_ms=10_000, incremental_ms=12_000).prefers_full


@given(full=st.floats(1_000, 60_000), cold=st.floats(1, 10), rows=st.integers(1, 10**6))
def test_one_slow_refresh_by_changes_is_not_held_against_it_for_ever(full: float, cold: float, rows: int) -> None:
    """It is tried again, and then it is what is done."""
    measured = Measured(full, rows * 10, full * cold, rows)
    work = Work(rows, rows * 10)
    for _ in range(60):
        expected = estimate(work, measured)
        assert expected is not None
        if not expected.prefers_full:
            break
        measured = measured.with_full(full, rows * 10)
    else:
        raise AssertionError("never tried again")
    expected = estimate(work, measured.with_incremental(full / 4, rows))
    assert expected is not None
    assert not expected.prefers_full


@given(full=st.floats(1_000, 60_000), slower=st.floats(1.6, 8))
def test_what_stays_slower_is_tried_seldom(full: float, slower: float) -> None:
    """All in all not much slower than a full refresh each time."""
    measured, total = Measured(full, 1_000_000, full * slower, 100_000), 0.0
    for _ in range(100):
        expected = estimate(Work(100_000, 1_000_000), measured)
        assert expected is not None
        if expected.prefers_full:
            measured, total = measured.with_full(full, 1_000_000), total + full
        else:
            measured, total = measured.with_incremental(full * slower, 100_000), total + full * slower
    assert total <= 100 * full * 1.4


@given(full=st.floats(100, 400), slow=st.floats(1_500, 100_000))
def test_a_small_change_that_took_long_once_is_tried_again(full: float, slow: float) -> None:
    """The first one makes its plan; any may meet a busy machine."""
    first = Measured(full, 60_000).with_incremental(slow, 10, compiled=True)
    busy = Measured(full, 60_000, 60, 10).with_incremental(slow, 10)
    for measured in (first, busy):
        expected = estimate(Work(10, 60_000), measured)
        assert expected is not None
        assert not expected.prefers_full


def test_a_small_change_that_stays_slow_is_believed() -> None:
    measured = Measured(200, 60_000, 60, 10)
    for _ in range(4):
        measured = measured.with_incremental(3_000, 10)
    expected = estimate(Work(10, 60_000), measured)
    assert expected is not None
    assert expected.prefers_full


_QUICK, _SPARK = ComputeEngine.QUICK, ComputeEngine.SPARK
_RATES = st.builds(
    EngineRates,
    st.builds(EngineRate, st.floats(0.5, 100), st.floats(0.1, 50)),
    st.builds(EngineRate, st.floats(20, 5_000), st.floats(0.1, 100)),
)


@given(rates=_RATES, full=st.floats(1, 1e5), changed=st.integers(1, 10**6), rows=st.integers(1, 10**7))
def test_work_that_moves_to_the_other_engine_costs_what_that_one_takes(
    rates: EngineRates, full: float, changed: int, rows: int
) -> None:
    """What was measured on one engine is no measure of the other, whichever way it goes."""
    slower = EngineRates(rates.quick, EngineRate(rates.spark.query_ms * 10, rates.spark.mb_ms * 10))
    measured = Measured(full, rows, full, changed, _QUICK, _QUICK)

    def expected(engine: ComputeEngine, used: EngineRates) -> RefreshEstimate:
        found = estimate(Work(changed, rows, rows * 50, engine, engine), measured, used)
        assert found is not None
        return found

    assert expected(_QUICK, rates) == expected(_QUICK, slower), "nothing of Spark's counts where it has no part"
    assert expected(_SPARK, slower).full_ms > expected(_SPARK, rates).full_ms * 9
    assert expected(_SPARK, slower).incremental_ms > expected(_SPARK, rates).incremental_ms * 5


def test_the_choice_follows_the_rates() -> None:
    """Changes that are too many for the quick lane are Spark's; all rows of a small table are not."""
    work = Work(60_000, 100_000, 1_000_000, _QUICK, _SPARK)
    measured = Measured(60, 100_000, 30, 10, _QUICK, _QUICK)
    slow, fast = (EngineRates(spark=EngineRate(ms, ms / 10)) for ms in (900.0, 6.0))
    by_slow, by_fast = (estimate(work, measured, rates) for rates in (slow, fast))
    assert by_slow is not None and by_slow.prefers_full
    assert by_fast is not None and not by_fast.prefers_full
    cold = EngineRates(spark=EngineRate(6.0, 0.6, start_ms=6_000))
    waiting = estimate(work, measured, cold)
    assert waiting is not None and waiting.prefers_full, "an engine that has to start first takes that long"


def test_what_one_engine_took_is_not_smoothed_into_what_the_other_takes() -> None:
    measured = Measured().with_full(30, 1_000, _QUICK).with_full(900, 1_000, _SPARK).with_full(40, 1_000, _QUICK)
    assert (measured.full_ms, measured.full_engine) == (40, _QUICK)
    measured = measured.with_incremental(800, 100_000, _SPARK).with_incremental(35, 10, _QUICK)
    assert (measured.incremental_ms, measured.incremental_engine) == (35, _QUICK)
    assert ASSUMED_RATES.fixed_ms(_QUICK) < ASSUMED_RATES.fixed_ms(_SPARK)
