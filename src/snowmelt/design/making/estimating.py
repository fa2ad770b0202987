"""Capacity and cost from measured rates. Nothing is estimated from a number that nobody measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from snowmelt.core.lag import parse_lag
from snowmelt.design.deciding import Verdict
from snowmelt.design.facts import tables_of
from snowmelt.design.model import Estimate, Stage, StageKind
from snowmelt.design.requirements.amounts import show_bytes, show_seconds
from snowmelt.design.requirements.model import Requirements

_DAY = 86_400
_WARNING, _CRITICAL = 80, 95
_DEFAULT_RETENTION_DAYS = 30


@dataclass(frozen=True, slots=True)
class Rate:
    value: float
    benchmark: str
    what: str


@cache
def rates() -> dict[str, Rate]:
    return {name: Rate(**row) for name, row in _data()["rates"].items()}


@cache
def _data() -> dict[str, Any]:
    text = files("snowmelt.design").joinpath("rates.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def estimates(given: Requirements, verdict: Verdict, stages: Sequence[Stage]) -> list[Estimate]:
    events = verdict.facts.value("events_per_second")
    return [*_ingest(events, verdict), *_refreshes(stages, events), *_storage(given), *_first_load(given)]


def _ingest(events: float | None, verdict: Verdict) -> Iterator[Estimate]:
    if events is None:
        return
    documents = verdict.outcome("capture") in ("log", "offsets")
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
        what="cost of ingest", value=_money(credits_a_day), benchmark=cost.benchmark,
        how=f"{events * _DAY:,.0f} events a day, {cost.value:g} {cost.what.partition(' for ')[0]} a million",
    )  # fmt: skip


def _refreshes(stages: Sequence[Stage], events: float | None) -> Iterator[Estimate]:
    tables = [stage for stage in stages if stage.kind is not StageKind.TABLE]
    lag = min((parse_lag(stage.target_lag or "") or _DAY for stage in tables), default=None)
    if lag is None:
        return
    rate = rates()["refresh_seconds"]
    runs = _DAY / lag
    if events is not None:
        # A refresh that finds nothing new costs next to nothing.
        runs = min(runs, max(1.0, events * _DAY))
    busy = runs * len(tables) * rate.value
    yield Estimate(
        what="refreshes", value=f"{show_seconds(round(busy))} of work a day, {_money(busy / 3600)}",
        benchmark=rate.benchmark, how=f"{runs:,.0f} runs a day of {len(tables)} tables, {rate.value:g} s each",
    )  # fmt: skip


def _storage(given: Requirements) -> Iterator[Estimate]:
    if given.volume is None or given.volume.per_day is None:
        return
    window = given.replay.window if given.replay is not None else None
    days = window / _DAY if window is not None else _DEFAULT_RETENTION_DAYS
    yield Estimate(
        what="raw storage", value=f"{show_bytes(given.volume.per_day * days)} after {days:g} days", benchmark="",
        how=f"{show_bytes(given.volume.per_day)} a day as it comes; Parquet usually takes less",
    )  # fmt: skip


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


def _money(amount: float) -> str:
    price = float(_data()["credit_price"])
    return f"{amount:.3g} credits a day (${amount * price:.2f} at ${price:g} a credit)"
