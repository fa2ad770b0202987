"""What statements, tables, tasks and warehouses cost, from the records of statements and refreshes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.names import split_name
from snowmelt.features.dynamic_tables import graph
from snowmelt.features.dynamic_tables.graph import RefreshNode
from snowmelt.observe.costs import TableCost
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.results import ResultColumn
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshAction, RefreshState
from snowmelt.state.model import QueryRecord, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

_MOST = 100_000
"""Statements that a report looks at."""
_DAYS = 7
_CREDITS = types.number(38, 9)
_MONEY = types.number(38, 6)
ATTRIBUTION_ARGUMENTS = ("START_TIME", "END_TIME", "WAREHOUSE_NAME", "RESULT_LIMIT")
ATTRIBUTION_COLUMNS = (
    *columns("QUERY_ID, WAREHOUSE_NAME, USER_NAME, QUERY_TAG, START_TIME:ts, END_TIME:ts"),
    ResultColumn("CREDITS_ATTRIBUTED_COMPUTE", _CREDITS),
    *columns("PURPOSE, TARGET, SPARK_SECONDS:float, BYTES_SCANNED:n"),
    ResultColumn("COST", _MONEY),
)
OBJECT_ARGUMENTS = ("START_TIME", "END_TIME", "NAME", "RESULT_LIMIT")
OBJECT_COLUMNS = (
    *columns("USAGE_DATE:date, PURPOSE, NAME, WAREHOUSE_NAME, STATEMENTS:n, SPARK_SECONDS:float, BYTES_SCANNED:n"),
    ResultColumn("CREDITS_USED", _CREDITS),
    ResultColumn("COST", _MONEY),
    *columns("OBJECT_ID"),
)


def attribution(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    """One row a statement that used a warehouse, the latest first."""
    wanted = arguments.identifier("WAREHOUSE_NAME")
    rows: list[Row] = [
        {
            "QUERY_ID": item.query_id,
            "WAREHOUSE_NAME": item.warehouse,
            "USER_NAME": item.user,
            "QUERY_TAG": item.query_tag,
            "START_TIME": item.start_time,
            "END_TIME": item.end_time,
            "CREDITS_ATTRIBUTED_COMPUTE": _credits(item.credits),
            "PURPOSE": item.purpose,
            "TARGET": item.target,
            "SPARK_SECONDS": item.spark_seconds,
            "BYTES_SCANNED": item.bytes_scanned,
            "COST": _cost(run, item.credits),
        }
        for item in _spent(run, arguments)
        if wanted in (None, item.warehouse)
    ]
    return rows[: arguments.limit(100)]


def by_object(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    """By day, what was run for, and warehouse; the latest day and the dearest first."""
    wanted = arguments.text("NAME")
    sums: dict[tuple[Any, ...], list[float]] = {}
    for item in _spent(run, arguments):
        key = (item.start_time.astimezone(UTC).date(), item.purpose, item.target, item.target_id, item.warehouse)
        total = sums.setdefault(key, [0, 0.0, 0, 0.0])
        for index, value in enumerate((1, item.spark_seconds, item.bytes_scanned, item.credits)):
            total[index] += value
    rows: list[Row] = [
        {
            "USAGE_DATE": day, "PURPOSE": purpose, "NAME": name, "WAREHOUSE_NAME": warehouse, "STATEMENTS": int(count),
            "SPARK_SECONDS": seconds, "BYTES_SCANNED": int(scanned), "CREDITS_USED": _credits(credits),
            "COST": _cost(run, credits), "OBJECT_ID": id,
        }
        for (day, purpose, name, id, warehouse), (count, seconds, scanned, credits) in sums.items()
        if wanted is None or (name is not None and _same(name, wanted))
    ]  # fmt: skip
    rows.sort(key=lambda row: (row["USAGE_DATE"], row["CREDITS_USED"]), reverse=True)
    return rows[: arguments.limit(100)]


def _spent(run: Run, arguments: Arguments) -> list[QueryRecord]:
    end = arguments.instant("END_TIME")
    start = arguments.instant("START_TIME") or (end or run.now) - timedelta(days=_DAYS)
    return _records(run, start, end)


def _records(run: Run, start: datetime, end: datetime | None) -> list[QueryRecord]:
    """Statements that used Spark: all for who may monitor usage, one's own for everybody."""
    everybody = run.authority.on_account("MONITOR USAGE")
    user = None if everybody else run.session.user
    found = run.account.journal.list(_MOST, user=user, since=start, until=end)
    return [item for item in found if item.spark_seconds]


def _same(name: str, wanted: str) -> bool:
    parts, given = split_name(name), split_name(wanted)
    return parts is not None and given is not None and parts[-len(given) :] == given


def _credits(value: float) -> Decimal:
    return Decimal(str(round(value, 9)))


def _cost(run: Run, credits: float) -> Decimal:
    return Decimal(str(round(credits * run.account.settings.credit_price, 6)))


# -- the report -------------------------------------------------------------------------------------------------------


def report(run: Run, state: StateReader, arguments: Sequence[Any]) -> str:
    """SYSTEM$COST_REPORT([days [, name]]): what dynamic tables, tasks and warehouses cost a day, as JSON."""
    days = float(arguments[0]) if arguments and arguments[0] is not None else 1.0
    name = str(arguments[1]) if len(arguments) > 1 and arguments[1] is not None else None
    if days <= 0:
        raise errors.invalid_value(str(days), "days")
    records = _records(run, run.now - timedelta(days=days), None)
    tables = [_table_report(run, cost) for cost in _tables(run, state, records, days, name)]
    if name is not None and not tables:
        raise errors.not_found("Dynamic table", name)
    return json.dumps(
        {
            "days": days,
            "credit_price": run.account.settings.credit_price,
            "tables": sorted(tables, key=lambda each: -each["credits_per_day"]),
            "purposes": _by(run, records, days, lambda item: item.purpose),
            "warehouses": _by(run, records, days, lambda item: item.warehouse or ""),
        }
    )


def _by(run: Run, records: Sequence[QueryRecord], days: float, key: Any) -> list[dict[str, Any]]:
    sums: dict[str, list[float]] = {}
    for item in records:
        total = sums.setdefault(key(item), [0.0, 0.0])
        total[0] += item.spark_seconds
        total[1] += item.credits
    price = run.account.settings.credit_price
    return [
        {
            "name": name,
            "spark_seconds_per_day": seconds / days,
            "credits_per_day": credits / days,
            "cost_per_day": credits / days * price,
        }
        for name, (seconds, credits) in sorted(sums.items(), key=lambda pair: -pair[1][1])
    ]


def _tables(
    run: Run, state: StateReader, records: Sequence[QueryRecord], days: float, name: str | None
) -> list[TableCost]:
    nodes = graph.load(state).nodes
    chosen = [
        node
        for node in nodes.values()
        if (name is None or _same(str(node.table.name), name))
        and state.catalog.find(node.table.name, [node.table.kind]) is not None
    ]
    spent: dict[str, list[QueryRecord]] = {}
    for item in records:
        if item.purpose == "REFRESH" and item.target_id is not None:
            # By id: a table of the same name that was replaced had costs of its own.
            spent.setdefault(item.target_id, []).append(item)
    history: dict[str, list[DynamicRefresh]] = {}
    for row in state.dynamic.refreshes(run.now - timedelta(days=days), run.now + timedelta(minutes=1)):
        history.setdefault(row.table_id, []).append(row)
    readers = [above for node in nodes.values() for above in node.upstream]
    return [
        _table(state, node, spent.get(node.table.id, []), history.get(node.table.id, []), days,
               readers.count(node.table.id))
        for node in chosen
    ]  # fmt: skip


def _table(
    state: StateReader, node: RefreshNode, spent: Sequence[QueryRecord], history: Sequence[DynamicRefresh], days: float,
    readers: int,
) -> TableCost:  # fmt: skip
    definition = node.table.definition
    assert isinstance(definition, TableDefinition)
    worked = [row for row in history if row.state is RefreshState.SUCCEEDED and row.action is not RefreshAction.NO_DATA]
    version = state.versions.visible(node.table.id)
    full = node.state.costs.full_ms
    return TableCost(
        name=str(node.table.name),
        days=days,
        mode=node.state.refresh_mode.value,
        mode_reason=node.state.refresh_mode_reason,
        target_lag=node.definition.target_lag,
        readers=readers,
        clustered=bool(definition.cluster_by),
        refreshes=len(worked),
        idle_refreshes=sum(row.action is RefreshAction.NO_DATA for row in history),
        failed=sum(row.state is RefreshState.FAILED for row in history),
        spark_seconds=sum(item.spark_seconds for item in spent),
        credits=sum(item.credits for item in spent),
        bytes_scanned=sum(item.bytes_scanned for item in spent),
        rows_changed=sum(_changed(row) for row in worked),
        table_rows=version.rows if version is not None else 0,
        table_bytes=version.bytes if version is not None else 0,
        full_seconds=full / 1000 if full is not None else None,
        refresh_seconds=sum(_seconds(row) for row in worked) / len(worked) if worked else 0.0,
    )


def _changed(row: DynamicRefresh) -> int:
    return row.statistics.get("numInsertedRows", 0) + row.statistics.get("numDeletedRows", 0)


def _seconds(row: DynamicRefresh) -> float:
    return row.statistics.get("executionTimeMs", 0) / 1000


def _table_report(run: Run, cost: TableCost) -> dict[str, Any]:
    price, full = run.account.settings.credit_price, cost.full_credits_per_day
    return {
        "name": cost.name,
        "mode": cost.mode,
        "target_lag": cost.target_lag,
        "refreshes_per_day": cost.runs_per_day,
        "idle_refreshes_per_day": cost.idle_refreshes / cost.days,
        "spark_seconds_per_day": cost.spark_seconds / cost.days,
        "bytes_scanned_per_day": cost.bytes_scanned / cost.days,
        "credits_per_day": cost.credits_per_day,
        "cost_per_day": cost.credits_per_day * price,
        "full_cost_per_day": None if full is None else full * price,
        "advice": cost.advice(),
    }
