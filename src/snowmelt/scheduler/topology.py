"""The shape of the graph: order, connection, who is scheduled at all, effective lags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from snowmelt.scheduler.graph import Downstream, DynamicTable, LagGraph, SchedulingState

FAILURES_TO_SUSPEND = 5


class Unscheduled(StrEnum):
    """Why the scheduler leaves a table alone."""

    SUSPENDED = "SUSPENDED"
    UPSTREAM_SUSPENDED = "UPSTREAM_SUSPENDED"
    DISABLED = "DISABLED"
    NO_CONSUMER = "NO_CONSUMER"
    """DOWNSTREAM, and no scheduled table reads it."""
    CYCLE = "CYCLE"
    """The table reads itself by way of others. The catalog never makes such tables; here they must do no harm."""


@dataclass(frozen=True, slots=True)
class Topology:
    tables: Mapping[str, DynamicTable]
    order: tuple[str, ...]
    """Every table that is not on or behind a cycle, upstream ones first."""
    position: Mapping[str, int]
    """In that order."""
    upstream: Mapping[str, tuple[str, ...]]
    """Without tables that are gone or disabled: to their readers those are base tables, or an error of the refresh."""
    consumers: Mapping[str, tuple[str, ...]]


def topology(graph: LagGraph) -> Topology:
    tables = {table.id: table for table in graph.tables}
    managed = {table.id for table in graph.tables if table.state is not SchedulingState.DISABLED}
    upstream: dict[str, tuple[str, ...]] = {}
    consumers: dict[str, list[str]] = {table: [] for table in tables}
    for table in graph.tables:
        reads = tuple(i for i in dict.fromkeys(table.upstream) if i in managed) if table.id in managed else ()
        upstream[table.id] = reads
        for read in reads:
            consumers[read].append(table.id)
    missing = {table: len(reads) for table, reads in upstream.items()}
    order = [table for table, count in missing.items() if count == 0]
    for ready in order:
        for consumer in consumers[ready]:
            missing[consumer] -= 1
            if missing[consumer] == 0:
                order.append(consumer)
    return Topology(
        tables=tables,
        order=tuple(order),
        position={table: position for position, table in enumerate(order)},
        upstream=upstream,
        consumers={table: tuple(found) for table, found in consumers.items()},
    )


def unscheduled(shape: Topology) -> dict[str, Unscheduled]:
    """Every table that is not to be refreshed by the scheduler, with the reason."""
    reasons = dict.fromkeys(shape.tables.keys() - set(shape.order), Unscheduled.CYCLE)
    for table in shape.order:
        reason = _own_reason(shape.tables[table])
        if reason is None and any(read in reasons for read in shape.upstream[table]):
            reason = Unscheduled.UPSTREAM_SUSPENDED
        if reason is not None:
            reasons[table] = reason
    for table in reversed(shape.order):
        idle = isinstance(shape.tables[table].target_lag, Downstream)
        if idle and table not in reasons and all(reader in reasons for reader in shape.consumers[table]):
            reasons[table] = Unscheduled.NO_CONSUMER
    return reasons


def effective_lags(shape: Topology, reasons: Mapping[str, Unscheduled]) -> dict[str, timedelta]:
    """The lag each scheduled table is held to: its own, or for DOWNSTREAM the smallest of those that read it."""
    lags: dict[str, timedelta] = {}
    for table in reversed(shape.order):
        if table in reasons:
            continue
        target = shape.tables[table].target_lag
        if isinstance(target, Downstream):
            lags[table] = min(lags[reader] for reader in shape.consumers[table] if reader in lags)
        else:
            lags[table] = target
    return lags


def with_upstream(shape: Topology, wanted: Iterable[str]) -> set[str]:
    """The tables and everything they are computed from, over any number of steps."""
    found = set(wanted)
    open_ends = list(found)
    while open_ends:
        for read in shape.upstream[open_ends.pop()]:
            if read not in found:
                found.add(read)
                open_ends.append(read)
    return found


def connected(shape: Topology, tables: Iterable[str]) -> list[list[str]]:
    """The tables by connected graph: those that a reader, a table read, or a base table joins, in the given order.

    Connections count through tables that are not among the given ones as well.
    """
    wanted = list(tables)
    if not wanted:
        return []
    leader: dict[str, str] = {}

    def root(node: str) -> str:
        path = []
        while (parent := leader.get(node, node)) != node:
            path.append(node)
            node = parent
        for passed in path:
            leader[passed] = node
        return node

    for table in shape.order:
        for other in (*shape.upstream[table], *shape.tables[table].sources):
            leader[root(other)] = root(table)
    groups: dict[str, list[str]] = {}
    for table in wanted:
        groups.setdefault(root(table), []).append(table)
    return list(groups.values())


def _own_reason(table: DynamicTable) -> Unscheduled | None:
    if table.state is SchedulingState.DISABLED:
        return Unscheduled.DISABLED
    if table.state is SchedulingState.SUSPENDED or failed_too_often(table):
        return Unscheduled.SUSPENDED
    return None


def failed_too_often(table: DynamicTable) -> bool:
    return table.state is SchedulingState.ACTIVE and table.failures >= FAILURES_TO_SUSPEND
