"""Dynamic tables: queries whose results are kept up to date."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.dynamic_tables.interrupted import end_refreshes
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import ShownRows
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.schema_objects import is_dynamic
from snowmelt.runtime.stopping import StopTimes
from snowmelt.sql.statements.dynamic_tables import AlterDynamicTable, CreateDynamicTable, ExplainDynamicTable
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateTransaction

with lazy_imports():
    from snowmelt.features.dynamic_tables import landing, listing, scheduling, service, sql_functions
    from snowmelt.features.dynamic_tables.cloned import add
    from snowmelt.features.dynamic_tables.commands import (
        alter_dynamic_table,
        create_dynamic_table,
        explain_dynamic_table,
    )
    from snowmelt.features.dynamic_tables.listing import dynamic_tables


_WAKING = frozenset(
    {"CREATE_DYNAMIC_TABLE", "ALTER_DYNAMIC_TABLE", "REFRESH_DYNAMIC_TABLE", "UNDROP_DYNAMIC_TABLE", "UNDROP_TABLE"}
)
"""Statements after which a dynamic table may be due, or free."""


def _begin(account: Account) -> None:
    end_refreshes(account.state)
    account.services.offer(service, "DynamicTables", account)

    def wake() -> None:
        if account.services.is_made("DynamicTables"):
            account.services[service.DynamicTables].wake()

    account.lifecycle.table_cloned.subscribe(add)
    account.lifecycle.refused_by_checks.subscribe(_suspend)
    account.lifecycle.dropped.subscribe(_dropped)
    account.lifecycle.restored.subscribe(_restored)
    account.events.wake_after(_WAKING, wake)


def _suspend(state: StateTransaction, table: CatalogObject, _: str | None) -> None:
    if is_dynamic(table):
        scheduling.suspend(state, table, scheduling.BY_QUALITY)


def _dropped(state: StateTransaction, item: CatalogObject) -> None:
    if is_dynamic(item):
        state.dynamic.end_graph(item.id, state.now)
        landing.dropped(state, item)


def _restored(state: StateTransaction, item: CatalogObject) -> None:
    if is_dynamic(item):
        scheduling.note_definition(state, item.id, ("UNDROP",))
        landing.restored(state, item)


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("DynamicTables"):
        account.services[service.DynamicTables].stop(times.grace, times.cancelling)


FEATURE = Feature(
    "dynamic_tables",
    shows=(ShownRows(word="DYNAMIC TABLES", listing=Listing(dynamic_tables), columns=lambda: listing.COLUMNS),),
    functions=lambda: sql_functions.FUNCTIONS,
    handlers={
        CreateDynamicTable: create_dynamic_table,
        AlterDynamicTable: alter_dynamic_table,
        ExplainDynamicTable: explain_dynamic_table,
    },
    begin=_begin,
    stop=_stop,
)
