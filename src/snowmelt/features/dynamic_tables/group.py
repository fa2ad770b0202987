"""Refreshing several dynamic tables for one data timestamp, with everything that they read."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.features.dynamic_tables import errors as refresh_errors
from snowmelt.features.dynamic_tables import graph, pins
from snowmelt.features.dynamic_tables.graph import RefreshNode
from snowmelt.features.dynamic_tables.recording import RefreshOutcome
from snowmelt.features.dynamic_tables.refresh import refresh_table
from snowmelt.runtime.run import Run
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshState, RefreshTrigger
from snowmelt.state.model import CatalogObject, ObjectKind

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


def refresh_graph(
    account: Account,
    table_ids: Collection[str],
    trigger: RefreshTrigger,
    *,
    data_timestamp: datetime | None = None,
    caller: Run | None = None,
    as_caller: bool = False,
) -> dict[str, RefreshOutcome]:
    """Refreshes these tables and all dynamic tables above them at one data timestamp, by default the present one.

    The outcomes are by table id, in the order of the work. What reads a table that failed is not tried, and has a row
    of history that says so. When somebody else brings one of them beyond the data timestamp before it stood at it,
    what reads it can't be computed for that any more, and all go on to where that one stands, unless the data
    timestamp was given.
    """
    with account.state.read() as state:
        nodes = graph.load(state).with_upstream(table_ids)
    adopt_sources(account, nodes)
    at = account.state.settle(data_timestamp)
    read = {id for node in nodes for id in node.upstream}
    outcomes: dict[str, RefreshOutcome] = {}
    following: datetime | None = at
    while following is not None:
        at, following = following, None
        outcomes = {}
        for node in nodes:
            id = node.table.id
            failed = [outcomes[above] for above in node.upstream if above in outcomes and not outcomes[above].succeeded]
            if failed:
                outcomes[id] = upstream_failed(account, node.table, at, trigger, failed)
                continue
            outcomes[id] = refresh_table(account, node.table, at, trigger, caller=caller, as_caller=as_caller)
            if id in read and data_timestamp is None and outcomes[id].succeeded and not stood_at(account, id, at):
                following = _stands_at(account, id)
                break
    return outcomes


def stood_at(account: Account, table_id: str, at: datetime) -> bool:
    """Whether a table that may be newer was ever at that data timestamp, as what reads it needs it."""
    with account.state.read() as state:
        found = state.dynamic.refresh_as_of(table_id, at)
    return found is not None and found.data_timestamp == at


def _stands_at(account: Account, table_id: str) -> datetime | None:
    with account.state.read() as state:
        return state.dynamic.require(table_id).data_timestamp


def adopt_sources(account: Account, nodes: Collection[RefreshNode]) -> bool:
    """Makes visible what other tools wrote to the tables that these dynamic tables read; whether they did."""
    ids = {item.object_id for node in nodes for item in node.state.dependencies if item.kind == "TABLE"}
    with account.state.read() as state:
        found = state.catalog.by_ids(ids)
    live = {id: item for id, item in found.items() if item.dropped_on is None and item.kind is ObjectKind.TABLE}
    return pins.adopt_foreign(account, live)


def upstream_failed(
    account: Account, table: CatalogObject, at: datetime, trigger: RefreshTrigger, failed: Collection[RefreshOutcome]
) -> RefreshOutcome:
    """Notes that a table was not refreshed because something above it failed."""
    names = ", ".join(sorted(str(outcome.name) for outcome in failed))
    with account.state.begin() as state:
        row = DynamicRefresh(
            id=str(uuid.uuid4()),
            table_id=table.id,
            name=table.name,
            state=RefreshState.UPSTREAM_FAILED,
            state_code="UPSTREAM_FAILURE",
            state_message="Skipped refreshing because an input dynamic table failed.",
            data_timestamp=at,
            started_at=state.now,
            ended_at=state.now,
            trigger=trigger,
            graph_valid_from=state.dynamic.require(table.id).graph_since,
        )
        state.dynamic.record_refresh(row)
    return RefreshOutcome(
        table.id,
        table.name,
        at,
        RefreshState.UPSTREAM_FAILED,
        refresh_id=row.id,
        error=refresh_errors.inputs_failed(names),
    )
