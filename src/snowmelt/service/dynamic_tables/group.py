"""Refreshing several dynamic tables for one data timestamp, with everything that they read."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.service.dynamic_tables import graph, pins
from snowmelt.service.dynamic_tables.graph import Node
from snowmelt.service.dynamic_tables.refresh import RefreshOutcome, refresh_table
from snowmelt.service.run import Run
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshState, RefreshTrigger
from snowmelt.state.model import CatalogObject, ObjectKind

if TYPE_CHECKING:
    from snowmelt.service.account import Account


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
    of history that says so.
    """
    with account.state.read() as state:
        nodes = graph.load(state).with_upstream(table_ids)
    adopt_sources(account, nodes)
    at = account.state.settle(data_timestamp)
    outcomes: dict[str, RefreshOutcome] = {}
    for node in nodes:
        failed = [outcomes[id] for id in node.upstream if id in outcomes and not outcomes[id].succeeded]
        if failed:
            outcomes[node.table.id] = upstream_failed(account, node.table, at, trigger, failed)
        else:
            outcomes[node.table.id] = refresh_table(
                account, node.table, at, trigger, caller=caller, as_caller=as_caller
            )
    return outcomes


def adopt_sources(account: Account, nodes: Collection[Node]) -> bool:
    """Makes visible what other tools wrote to the tables that these dynamic tables read; whether they did."""
    ids = {item.object_id for node in nodes for item in node.state.dependencies if item.kind == "TABLE"}
    with account.state.read() as state:
        found = {id: item for id in ids if (item := state.catalog.by_id(id)) is not None}
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
        table.id, table.name, at, RefreshState.UPSTREAM_FAILED, refresh_id=row.id, error=errors.inputs_failed(names)
    )
