"""INFORMATION_SCHEMA's table functions over freshness, availability and drift."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core.names import ObjectName
from snowmelt.features.observing.recording import availability as measured
from snowmelt.features.observing.service import Observing
from snowmelt.observe.availability import allowed, month_of
from snowmelt.observe.freshness import WatchedKind
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

_NAME = "DATABASE_NAME, SCHEMA_NAME, NAME"
FRESHNESS_COLUMNS = columns(
    f"KIND, {_NAME}, STATUS, BEHIND_SEC:n, LIMIT_SEC:n, SINCE_UPDATE_SEC:n, EXPECTED_INTERVAL_SEC:n, "
    "DATA_TIMESTAMP:ts, LAST_UPDATED:ts, SCHEDULING_STATE"
)
HISTORY_ARGUMENTS = ("TIME_RANGE_START", "TIME_RANGE_END", "NAME", "RESULT_LIMIT")
HISTORY_COLUMNS = columns(f"KIND, {_NAME}, STATUS, STARTED_ON:ts, ENDED_ON:ts, DURATION_SEC:n, LIMIT_SEC:n")
AVAILABILITY_ARGUMENTS = ("MONTH",)
AVAILABILITY_COLUMNS = columns(
    f"{_NAME}, MONTH:ts, TIER:n, TARGET:float, AVAILABILITY:float, LOST_SEC:n, ALLOWED_SEC:n, MET:bool"
)
DRIFT_ARGUMENTS = ("TIME_RANGE_START", "TIME_RANGE_END", "NAME", "RESULT_LIMIT")
DRIFT_COLUMNS = columns(f"{_NAME}, SOURCE, FOUND_ON:ts, DIFF")
_DAYS = 7


def freshness(run: Run, state: StateReader, _: Arguments) -> list[Row]:
    """One row a table, a view of a product, and a product."""
    return [
        {
            "KIND": item.kind.value,
            **_names(item.name),
            "STATUS": item.status.value,
            "BEHIND_SEC": _whole(item.behind),
            "LIMIT_SEC": _whole(item.limit),
            "SINCE_UPDATE_SEC": _whole(item.since_update),
            "EXPECTED_INTERVAL_SEC": _whole(item.interval),
            "DATA_TIMESTAMP": item.data_timestamp,
            "LAST_UPDATED": item.updated_at,
            "SCHEDULING_STATE": "SUSPENDED" if item.suspended else "ACTIVE",
        }
        for item in run.account.services[Observing].freshness(state, every_table=True)
    ]


def freshness_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """The newest first. What lasts has no end."""
    start, end = _range(run, arguments)
    wanted = arguments.identifier("NAME")
    rows: list[Row] = [
        {
            "KIND": span.kind,
            **_names(span.name),
            "STATUS": span.status,
            "STARTED_ON": span.since,
            "ENDED_ON": span.until,
            "DURATION_SEC": _whole(((span.until or run.now) - span.since).total_seconds()),
            "LIMIT_SEC": _whole(span.limit),
        }
        for span in reversed(state.observations.spans(start, end))
        if wanted in (None, span.name.name)
    ]
    return rows[: arguments.limit(100)]


def availability(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """The availability of every product with a promise, in the month of the argument, or in this one."""
    at = arguments.instant("MONTH") or run.now
    start, end = month_of(at)
    rows: list[Row] = []
    for last, found in measured(state, at, run.now).values():
        if last.kind == WatchedKind.DATA_PRODUCT.value and found.ratio is not None:
            rows.append(
                {
                    **_names(last.name),
                    "MONTH": start,
                    "TIER": found.tier,
                    "TARGET": found.target,
                    "AVAILABILITY": found.ratio,
                    "LOST_SEC": _whole(found.lost),
                    "ALLOWED_SEC": _whole(allowed(start, end, found.tier)),
                    "MET": None if found.target is None else found.ratio >= found.target,
                }
            )
    return sorted(rows, key=lambda row: (row["DATABASE_NAME"], row["SCHEMA_NAME"], row["NAME"]))


def schema_drift(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    start, end = _range(run, arguments)
    wanted = arguments.identifier("NAME")
    rows: list[Row] = [
        {**_names(drift.name), "SOURCE": drift.source, "FOUND_ON": drift.found_at, "DIFF": drift.diff()}
        for drift in state.observations.drifts(start, end)
        if wanted in (None, drift.name.name)
    ]
    return rows[: arguments.limit(100)]


def _range(run: Run, arguments: Arguments) -> tuple[datetime, datetime]:
    end = arguments.instant("TIME_RANGE_END") or run.now + timedelta(minutes=1)
    return arguments.instant("TIME_RANGE_START") or end - timedelta(days=_DAYS), end


def _names(name: ObjectName) -> dict[str, Any]:
    return {"DATABASE_NAME": name.database, "SCHEMA_NAME": name.schema, "NAME": name.name}


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)
