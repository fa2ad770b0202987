"""INFORMATION_SCHEMA's table functions over dynamic tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.features.dynamic_tables import graph
from snowmelt.features.dynamic_tables.graph import RefreshNode
from snowmelt.features.dynamic_tables.lags import measure
from snowmelt.features.dynamic_tables.listing import lag_text
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.state.dynamic_model import DynamicGraphEntry, DynamicRefresh, DynamicState, RefreshState
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

DAYS = 7
"""How long refreshes are kept."""
_NAME = "NAME, SCHEMA_NAME, DATABASE_NAME"
TABLE_COLUMNS = columns(
    f"{_NAME}, QUALIFIED_NAME, TARGET_LAG_SEC:n, TARGET_LAG_TYPE, SCHEDULING_STATE:object, MEAN_LAG_SEC:n, "
    "MAXIMUM_LAG_SEC:n, TIME_ABOVE_TARGET_LAG_SEC:n, TIME_WITHIN_TARGET_LAG_RATIO:float, LATEST_DATA_TIMESTAMP:ts, "
    "LAST_COMPLETED_REFRESH_STATE, LAST_COMPLETED_REFRESH_STATE_CODE, LAST_COMPLETED_REFRESH_STATE_MESSAGE, "
    "EXECUTING_REFRESH_QUERY_ID, RECOMMENDATIONS:object, REFRESH_MODE, REFRESH_MODE_REASON, TARGET_LAG"
)
REFRESH_COLUMNS = columns(
    f"{_NAME}, STATE, STATE_CODE, STATE_MESSAGE, QUERY_ID, DATA_TIMESTAMP:ts, REFRESH_START_TIME:ts, "
    "REFRESH_END_TIME:ts, COMPLETION_TARGET:ts, QUALIFIED_NAME, LAST_COMPLETED_DEPENDENCY:object, STATISTICS:object, "
    "REFRESH_ACTION, REFRESH_TRIGGER, TARGET_LAG_SEC:n, GRAPH_HISTORY_VALID_FROM:ts, INPUTS_WITH_CHANGED_DATA:array, "
    "REINIT_REASON, WAREHOUSE, EXECUTE_AS_USER, SECONDARY_ROLE_NAMES, DETAILS:object"
)
GRAPH_COLUMNS = columns(
    f"{_NAME}, QUALIFIED_NAME, INPUTS:array, TARGET_LAG_TYPE, TARGET_LAG_SEC:n, QUERY_TEXT, VALID_FROM:ts, "
    "VALID_TO:ts, SCHEDULING_STATE:object, ALTER_TRIGGER:array"
)
TABLE_ARGUMENTS = ("NAME", "REFRESH_DATA_TIMESTAMP_START", "RESULT_LIMIT", "INCLUDE_CONNECTED")
REFRESH_ARGUMENTS = (
    "DATA_TIMESTAMP_START", "DATA_TIMESTAMP_END", "RESULT_LIMIT", "NAME", "NAME_PREFIX", "ERROR_ONLY",
)  # fmt: skip
GRAPH_ARGUMENTS = ("AS_OF", "HISTORY_START", "HISTORY_END", "NAME")
_WORST_FIRST = (
    RefreshState.FAILED, RefreshState.UPSTREAM_FAILED, RefreshState.SKIPPED, RefreshState.SUCCEEDED,
    RefreshState.CANCELLED,
)  # fmt: skip
_ERRORS = frozenset({RefreshState.FAILED, RefreshState.UPSTREAM_FAILED, RefreshState.CANCELLED})


def dynamic_tables(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """One row a table, those whose last refresh failed first."""
    start = _within(run, arguments.instant("REFRESH_DATA_TIMESTAMP_START")) or run.now - timedelta(days=1)
    name = arguments.text("NAME")
    connected = bool(arguments.value("INCLUDE_CONNECTED"))
    if connected and name is None:
        raise errors.compilation("001020", "22023", "INCLUDE_CONNECTED needs NAME.")
    if connected and arguments.value("RESULT_LIMIT") is not None:
        raise errors.compilation("001020", "22023", "INCLUDE_CONNECTED can't be combined with RESULT_LIMIT.")
    known = graph.load(state).nodes
    named = _named(run, name)
    chosen = {id for id, node in known.items() if named(node.table.name)}
    if connected:
        chosen = _connected(known, chosen)
    rows = [_table(run, state, known[id], start) for id in sorted(chosen, key=lambda id: known[id].table.name)]
    rows.sort(key=lambda row: row[0])
    return [row for _, row in rows][: None if connected else arguments.limit(100)]


def _connected(nodes: dict[str, RefreshNode], chosen: set[str]) -> set[str]:
    """With everything that is above or below, directly or not."""
    grown = set(chosen)
    while True:
        more = {id for id, node in nodes.items() if not grown.isdisjoint(node.upstream)}
        more |= {above for id in grown for above in nodes[id].upstream if above in nodes}
        if more <= grown:
            return grown
        grown |= more


def _table(run: Run, state: StateReader, node: RefreshNode, start: datetime) -> tuple[int, Row]:
    recent = list(reversed(state.dynamic.refreshes(start, run.now + timedelta(days=1), [node.table.id])))
    executing = [item for item in recent if item.state is RefreshState.EXECUTING]
    done = [item for item in recent if item.state is RefreshState.SUCCEEDED]
    last = state.dynamic.last_refresh(node.table.id)
    lags = None if node.state.suspended else measure(done, node.definition.target_lag, run.now)
    row = {
        **_names(node.table.name),
        **_lag(node.definition.target_lag, scheduled=node.definition.scheduled),
        "SCHEDULING_STATE": _scheduling(node.state),
        "MEAN_LAG_SEC": round(lags.mean) if lags is not None else None,
        "MAXIMUM_LAG_SEC": round(lags.maximum) if lags is not None else None,
        "TIME_ABOVE_TARGET_LAG_SEC": (
            round(lags.above_target) if lags is not None and lags.above_target is not None else None
        ),
        "TIME_WITHIN_TARGET_LAG_RATIO": lags.within_ratio if lags is not None else None,
        "LATEST_DATA_TIMESTAMP": node.state.data_timestamp,
        "LAST_COMPLETED_REFRESH_STATE": last.state.value if last is not None else None,
        "LAST_COMPLETED_REFRESH_STATE_CODE": last.state_code if last is not None else None,
        "LAST_COMPLETED_REFRESH_STATE_MESSAGE": last.state_message if last is not None else None,
        "EXECUTING_REFRESH_QUERY_ID": executing[0].query_id if executing else None,
        "REFRESH_MODE": node.state.refresh_mode.value,
        "REFRESH_MODE_REASON": node.state.refresh_mode_reason,
        "TARGET_LAG": lag_text(node.definition),
    }
    order = _WORST_FIRST.index(last.state) if last is not None and last.state in _WORST_FIRST else len(_WORST_FIRST)
    return order, row


def refresh_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    end = _within(run, arguments.instant("DATA_TIMESTAMP_END"))
    start = _within(run, arguments.instant("DATA_TIMESTAMP_START"))
    # The clock of the state store may be a little ahead: what was just refreshed belongs to the present.
    until = end or run.now + timedelta(minutes=1)
    since = start or (end or run.now) - timedelta(days=1)
    named, prefix = _named(run, arguments.text("NAME")), arguments.text("NAME_PREFIX")
    errors_only = bool(arguments.value("ERROR_ONLY"))
    rows = [
        _refresh(item)
        for item in state.dynamic.refreshes(since, until)
        if named(item.name)
        and (prefix is None or str(item.name).startswith(prefix.upper()))
        and (not errors_only or item.state in _ERRORS)
    ]
    return rows[: arguments.limit(100)]


def _refresh(item: DynamicRefresh) -> Row:
    return {
        **_names(item.name),
        "STATE": item.state.value,
        "STATE_CODE": item.state_code,
        "STATE_MESSAGE": item.state_message,
        "QUERY_ID": item.query_id,
        "DATA_TIMESTAMP": item.data_timestamp,
        "REFRESH_START_TIME": item.started_at,
        "REFRESH_END_TIME": item.ended_at,
        "COMPLETION_TARGET": item.completion_target,
        "LAST_COMPLETED_DEPENDENCY": _json(item.last_completed_dependency),
        "STATISTICS": _json(item.statistics or None),
        "REFRESH_ACTION": item.action.value if item.action is not None else None,
        "REFRESH_TRIGGER": item.trigger.value,
        "TARGET_LAG_SEC": item.target_lag,
        "GRAPH_HISTORY_VALID_FROM": item.graph_valid_from,
        "INPUTS_WITH_CHANGED_DATA": _json(list(item.changed_inputs)),
        "REINIT_REASON": item.reinit_reason,
        "WAREHOUSE": item.warehouse,
        "DETAILS": _json(item.details or None),
    }


def graph_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """Without arguments: the definitions that hold now."""
    as_of = arguments.instant("AS_OF")
    start, end = arguments.instant("HISTORY_START"), arguments.instant("HISTORY_END")
    if as_of is not None and (start is not None or end is not None):
        raise errors.compilation("001020", "22023", "AS_OF can't be combined with HISTORY_START or HISTORY_END.")
    if end is not None and start is None:
        raise errors.compilation("001020", "22023", "HISTORY_END needs HISTORY_START.")
    now = run.now + timedelta(minutes=1)
    since, until = (as_of, as_of) if as_of is not None else (start or now, end or now)
    named = _named(run, arguments.text("NAME"))
    return [_entry(item) for item in state.dynamic.graph(since, until) if named(item.name)]


def _entry(item: DynamicGraphEntry) -> Row:
    return {
        **_names(item.name),
        "INPUTS": _json(list(item.inputs)),
        **_lag(item.target_lag, scheduled=item.scheduled),
        "QUERY_TEXT": item.query,
        "VALID_FROM": item.valid_from,
        "VALID_TO": item.valid_to,
        "SCHEDULING_STATE": _scheduling(item),
        "ALTER_TRIGGER": _json(list(item.alter_trigger)),
    }


# -- parts of rows ----------------------------------------------------------------------------------------------------


def _names(name: ObjectName) -> dict[str, Any]:
    return {
        "NAME": name.name,
        "SCHEMA_NAME": name.schema,
        "DATABASE_NAME": name.database,
        "QUALIFIED_NAME": str(name),
    }


def _lag(seconds: int | None, *, scheduled: bool) -> dict[str, Any]:
    kind = "USER_DEFINED" if seconds is not None else "DOWNSTREAM" if scheduled else None
    return {"TARGET_LAG_SEC": seconds, "TARGET_LAG_TYPE": kind}


def _scheduling(item: DynamicState | DynamicGraphEntry) -> str | None:
    found = {
        "state": "SUSPENDED" if item.suspended else "ACTIVE",
        "reason_code": item.reason_code,
        "reason_message": item.reason_message,
        "suspended_on": item.suspended_on.isoformat() if item.suspended_on is not None else None,
        "resumed_on": item.resumed_on.isoformat() if item.resumed_on is not None else None,
    }
    return _json({key: value for key, value in found.items() if value is not None})


def _json(value: Collection[Any] | None) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True)


def _named(run: Run, name: str | None) -> Callable[[ObjectName], bool]:
    """Whether a table is the one that the argument NAME means: by its last part, or by its full name."""
    if name is None:
        return lambda _: True
    parts = split_name(name)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "NAME")
    if len(parts) == 1:
        return lambda found: found.name == parts[0]
    full = run.object_name(parts, "INFORMATION_SCHEMA")
    return lambda found: found == full


def _within(run: Run, instant: datetime | None) -> datetime | None:
    if instant is not None and instant < run.now - timedelta(days=DAYS):
        raise errors.SnowmeltError("001018", "22023", f"Cannot retrieve data from more than {DAYS} days ago")
    return instant
