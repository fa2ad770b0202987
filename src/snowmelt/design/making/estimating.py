"""Capacity and cost from measured rates. Nothing is estimated from a number that nobody measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from snowmelt.core.lag import parse_lag
from snowmelt.core.yaml_text import load_yaml
from snowmelt.design.deciding import DesignDecisions
from snowmelt.design.model import DesignStage, Estimate, StageKind
from snowmelt.design.requirements.amounts import show_bytes, show_seconds
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.rules.facts import ROW_BYTES
from snowmelt.design.rules.known import tables_of

_DAY = 86_400
_WARNING, _CRITICAL = 80, 95
_DEFAULT_RETENTION_DAYS = 30


@dataclass(frozen=True, slots=True)
class BenchmarkRate:
    value: float
    benchmark: str
    what: str


@cache
def rates() -> dict[str, BenchmarkRate]:
    return {name: BenchmarkRate(**row) for name, row in _data()["rates"].items()}


@cache
def _data() -> dict[str, Any]:
    text = files("snowmelt.design").joinpath("rates.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = load_yaml(text)
    return found


def estimates(given: Requirements, verdict: DesignDecisions, stages: Sequence[DesignStage]) -> list[Estimate]:
    events = verdict.facts.value("events_per_second")
    return [
        *_ingest(events, verdict), *_refreshes(stages, verdict), *_in_full(given, stages),
        *_storage(given, verdict), *_readings(given, verdict),
        *_first_load(given), *_at_the_limit(verdict),
    ]  # fmt: skip


def _ingest(events: float | None, verdict: DesignDecisions) -> Iterator[Estimate]:
    if events is None:
        return
    documents = verdict.outcome("capture") in ("log", "offsets", "events")
    rate = rates()["channel_events_per_second" if documents else "copy_rows_per_second"]
    share = 100 * events / rate.value
    level = "critical" if share >= _CRITICAL else "warning" if share >= _WARNING else "ok"
    machines = "" if share < _CRITICAL else f"; at least {-(-share // _WARNING):.0f} such machines"
    yield Estimate(
        what="ingest", value=f"{share:.3g} % of what was measured ({level}{machines})", benchmark=rate.benchmark,
        how=f"{events:,.6g} of {rate.value:,.0f} {rate.what.partition(' a second')[0]} a second",
    )  # fmt: skip
    cost = rates()["credits_per_million_events"]
    credits_a_day = events * _DAY / 1e6 * cost.value
    yield Estimate(
        what="cost of ingest", value=money(credits_a_day), benchmark=cost.benchmark,
        how=f"{events * _DAY:,.0f} events a day, {cost.value:g} {cost.what.partition(' for ')[0]} a million",
    )  # fmt: skip


def _rows_a_day(verdict: DesignDecisions) -> float | None:
    """How many rows come in a day, by the events a second or else by the bytes."""
    events, volume = verdict.facts.value("events_per_second"), verdict.facts.value("bytes_per_day")
    if events is not None:
        return float(events) * _DAY
    return float(volume) / ROW_BYTES if volume is not None else None


def _refreshes(stages: Sequence[DesignStage], verdict: DesignDecisions) -> Iterator[Estimate]:
    """A refresh takes a while by itself, and more for the rows that changed."""
    tables = [stage for stage in stages if stage.kind is not StageKind.TABLE]
    lag = min((parse_lag(stage.target_lag or "") or _DAY for stage in tables), default=None)
    if lag is None:
        return
    rows = _rows_a_day(verdict)
    yield _refreshed(lag, len(tables), rows, "refreshes")
    # What the promise costs is seen beside what others would.
    for other in (*[age for age in _AGES if age < lag][-1:], *[age for age in _AGES if age > lag][:1]):
        yield _refreshed(other, len(tables), rows, f"refreshes, if data may be {show_seconds(other)} old")


_AGES = (60, 300, 900, 3600, 21_600, 86_400)


def _refreshed(lag: float, tables: int, rows: float | None, what: str) -> Estimate:
    rate, full = rates()["refresh_seconds"], rates()["full_seconds_per_million_rows"]
    runs = _DAY / lag
    if rows is not None:
        # A refresh that finds nothing new costs next to nothing.
        runs = min(runs, max(1.0, rows))
    changed = (rows or 0) / runs
    each = rate.value + changed / 1e6 * full.value
    busy = runs * tables * each
    return Estimate(
        what=what, value=f"{show_seconds(round(busy))} of work a day, {money(busy / 3600)}",
        benchmark=rate.benchmark,
        how=f"{runs:,.0f} runs a day of {tables} tables, {each:.3g} s each for {changed:,.0f} changed rows",
    )  # fmt: skip


def _in_full(given: Requirements, stages: Sequence[DesignStage]) -> Iterator[Estimate]:
    """The other pattern beside the one that was taken: the same tables, computed as a whole each time."""
    rows = sum(table.rows or 0 for _, table in tables_of(given))
    lag = min((parse_lag(stage.target_lag or "") or _DAY for stage in stages if stage.sql), default=None)
    if not rows or lag is None:
        return
    rate, full = rates()["refresh_seconds"], rates()["full_seconds_per_million_rows"]
    each = rate.value + rows / 1e6 * full.value
    runs = _DAY / lag
    busy = "the whole time" if each > lag else f"{show_seconds(round(runs * each))} of work a day"
    yield Estimate(
        what="beside it: computed as a whole each time", value=f"{busy}, {money(min(runs * each, _DAY) / 3600)}",
        benchmark=f"{rate.benchmark}, {full.benchmark}",
        how=f"{runs:,.0f} runs a day over {rows:,} rows, {each:.3g} s each, where changes alone are computed here",
    )  # fmt: skip


def _kept_days(given: Requirements) -> float:
    window = given.retention or (given.replay.window if given.replay is not None else None)
    return window / _DAY if window is not None else _DEFAULT_RETENTION_DAYS


def _storage(given: Requirements, verdict: DesignDecisions) -> Iterator[Estimate]:
    volume = verdict.facts.value("bytes_per_day")
    if volume is None:
        return
    days = _kept_days(given)
    yield Estimate(
        what="raw storage", value=f"{show_bytes(volume * days)} after {days:g} days, {_rent(volume * days)}",
        benchmark="", how=f"{show_bytes(volume)} a day as it comes; Parquet usually takes less",
    )  # fmt: skip


def _readings(given: Requirements, verdict: DesignDecisions) -> Iterator[Estimate]:
    """The cost of tables that are read as a whole: each reading is sent, kept and compared."""
    size = verdict.facts.value("dump_bytes")
    if size is None or given.latency is None:
        return
    rate, full = rates()["copy_rows_per_second"], rates()["full_seconds_per_million_rows"]
    rows, runs, days = size / ROW_BYTES, max(1.0, _DAY / given.latency), _kept_days(given)
    each = rows / rate.value + rows / 1e6 * full.value
    yield Estimate(
        what="readings of the whole",
        value=f"{show_seconds(max(1, round(each)))} each, {money(each * runs / 3600)}, "
        f"{show_bytes(size * runs * days)} kept after {days:g} days, {_rent(size * runs * days)}",
        benchmark=f"{rate.benchmark}, {full.benchmark}",
        how=f"{show_bytes(size)} at {ROW_BYTES} bytes a row, {runs:g} times a day, landed and compared",
    )


def _at_the_limit(verdict: DesignDecisions) -> Iterator[Estimate]:
    for fact, what in (
        ("api_first_seconds", "first load at the rate limit"),
        ("api_seconds", "a day's rows at the rate limit"),
    ):
        seconds = verdict.facts.value(fact)
        if seconds:
            yield Estimate(
                what=what,
                value=f"{seconds / 3600:.3g} hours",
                benchmark="",
                how="rows, page size and requests a second",
            )


def _first_load(given: Requirements) -> Iterator[Estimate]:
    rows = sum(table.rows or 0 for _, table in tables_of(given))
    if not rows:
        return
    rate, full = rates()["copy_rows_per_second"], rates()["full_seconds_per_million_rows"]
    load, compute = rows / rate.value, rows / 1e6 * full.value
    yield Estimate(
        what="first load", value=show_seconds(max(1, round(load + compute))),
        benchmark=f"{rate.benchmark}, {full.benchmark}",
        how=f"{rows:,} rows at {rate.value:,.0f} rows a second, and {full.value:g} s a million to compute once",
    )  # fmt: skip


def _rent(size: float) -> str:
    price = float(_data()["storage_price"])
    return f"${size / 1e12 * price:.2f} a month at ${price:g} a TB"


def money(amount: float) -> str:
    price = float(_data()["credit_price"])
    return f"{amount:.3g} credits a day (${amount * price:.2f} at ${price:g} a credit)"
