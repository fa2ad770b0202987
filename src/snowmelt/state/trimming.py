"""Histories, each with the instant that its rows go by: what is older than somebody wants goes, a little at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, and_, delete, exists, func, or_, select, true, tuple_

from snowmelt.state.dynamic_model import RefreshState
from snowmelt.state.repository import Repository
from snowmelt.state.tables import (
    AUDIT_EVENTS,
    CHANNEL_MINUTES,
    DYNAMIC_GRAPH,
    DYNAMIC_REFRESHES,
    FILE_LOADS,
    FRESHNESS_SPANS,
    NOTIFICATIONS,
    QUALITY_RESULTS,
    QUERIES,
    SCHEMA_DRIFTS,
    TASK_GRAPH_RUNS,
    TASK_RUNS,
    TRANSACTIONS,
    WAREHOUSE_USAGE,
)

_ACTIVE = ("SCHEDULED", "EXECUTING")


@dataclass(frozen=True, slots=True)
class TrimmedHistory:
    table: Table
    instant: str
    """The column that says how old a row is. Rows without it are not history yet."""
    kept_as: str
    """The setting of [upkeep] that says for how long, in days."""
    unless: ColumnElement[bool] | None = None
    """Rows that stay however old they are."""


def _newest_refresh() -> ColumnElement[bool]:
    """What a dynamic table was last refreshed by, which others look up; and refreshes that go on."""
    others = DYNAMIC_REFRESHES.alias()
    newest = (
        select(func.max(others.c.data_timestamp))
        .where(others.c.table_id == DYNAMIC_REFRESHES.c.table_id, others.c.state == RefreshState.SUCCEEDED)
        .scalar_subquery()
    )
    here = DYNAMIC_REFRESHES.c
    return or_(
        here.state == RefreshState.EXECUTING,
        and_(here.state == RefreshState.SUCCEEDED, here.data_timestamp == newest),
    )


def _newest_load() -> ColumnElement[bool]:
    """COPY goes by the newest load of a file: without it, the file would be loaded a second time."""
    later, here = FILE_LOADS.alias(), FILE_LOADS.c
    return ~exists().where(
        later.c.table_id == here.table_id, later.c.file == here.file, later.c.loaded_at > here.loaded_at
    )


HISTORIES: Mapping[str, TrimmedHistory] = {
    "queries": TrimmedHistory(QUERIES, "start_time", "query_history_days", QUERIES.c.status == "running"),
    "transactions": TrimmedHistory(TRANSACTIONS, "finished_at", "query_history_days"),
    "warehouse usage": TrimmedHistory(WAREHOUSE_USAGE, "ended_at", "usage_days"),
    "audit": TrimmedHistory(AUDIT_EVENTS, "at", "audit_days"),
    "task runs": TrimmedHistory(TASK_RUNS, "scheduled_time", "task_history_days", TASK_RUNS.c.state.in_(_ACTIVE)),
    "task graph runs": TrimmedHistory(
        TASK_GRAPH_RUNS, "scheduled_time", "task_history_days", TASK_GRAPH_RUNS.c.state.in_(_ACTIVE)
    ),
    "refreshes": TrimmedHistory(DYNAMIC_REFRESHES, "data_timestamp", "refresh_history_days", _newest_refresh()),
    "graphs": TrimmedHistory(DYNAMIC_GRAPH, "valid_to", "refresh_history_days"),
    "channels": TrimmedHistory(CHANNEL_MINUTES, "minute", "channel_history_days"),
    "loads": TrimmedHistory(FILE_LOADS, "loaded_at", "load_history_days", _newest_load()),
    "quality": TrimmedHistory(QUALITY_RESULTS, "measured_at", "quality_days"),
    "freshness": TrimmedHistory(FRESHNESS_SPANS, "until", "observation_days"),
    "drifts": TrimmedHistory(SCHEMA_DRIFTS, "found_at", "observation_days"),
    "notifications": TrimmedHistory(NOTIFICATIONS, "sent_at", "observation_days"),
}


class Trims(Repository):
    def trim(self, history: TrimmedHistory, before: datetime, most: int) -> int:
        """Forget rows of before that instant, at most so many; returns how many."""
        self._writing()
        keys: list[Any] = list(history.table.primary_key)
        old = _old(history, before, most)
        return self._execute(delete(history.table).where(tuple_(*keys).in_(old))).rowcount

    def has(self, history: TrimmedHistory, before: datetime) -> bool:
        """Whether `trim` would forget something."""
        return self._execute(_old(history, before, 1)).first() is not None


def _old(history: TrimmedHistory, before: datetime, most: int) -> Select[*tuple[Any, ...]]:
    table = history.table
    instant = table.c[history.instant]
    kept = ~history.unless if history.unless is not None else true()
    return select(*table.primary_key).where(instant < before, kept).order_by(instant).limit(most)
