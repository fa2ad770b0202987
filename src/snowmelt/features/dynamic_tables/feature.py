"""Dynamic tables: queries whose results are kept up to date."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.dynamic_tables import checks, cloned, landing, listing, scheduling
from snowmelt.features.dynamic_tables import functions as dynamic_functions
from snowmelt.features.dynamic_tables.commands import HANDLERS
from snowmelt.features.dynamic_tables.interrupted import end_refreshes
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import ShownRows
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.schema_objects import is_dynamic
from snowmelt.runtime.stopping import StopTimes
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateTransaction

_WAKING = frozenset(
    {"CREATE_DYNAMIC_TABLE", "ALTER_DYNAMIC_TABLE", "REFRESH_DYNAMIC_TABLE", "UNDROP_DYNAMIC_TABLE", "UNDROP_TABLE"}
)
"""Statements after which a dynamic table may be due, or free."""


def _begin(account: Account) -> None:
    end_refreshes(account.state)
    tables = account.services.add(DynamicTables(account))

    account.lifecycle.table_cloned.subscribe(cloned.add)
    account.lifecycle.refused_by_checks.subscribe(_suspend)
    account.lifecycle.dropped.subscribe(_dropped)
    account.lifecycle.restored.subscribe(_restored)
    account.events.wake_after(_WAKING, tables.wake)


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
    account.services[DynamicTables].stop(times.grace, times.cancelling)


FEATURE = Feature(
    "dynamic_tables",
    shows=(ShownRows(word="DYNAMIC TABLES", listing=Listing(listing.dynamic_tables), columns=listing.COLUMNS),),
    handlers=HANDLERS,
    system_functions={
        "SYSTEM$CHECK_DYNAMIC_TABLE": SystemFunction(1, 1, types.VARCHAR, checks.check_dynamic_table),
        "SYSTEM$CHECK_SCD": SystemFunction(1, 2, types.VARCHAR, checks.check_scd),
    },
    table_functions=(
        TableFunction(
            "DYNAMIC_TABLES",
            dynamic_functions.TABLE_ARGUMENTS,
            dynamic_functions.TABLE_COLUMNS,
            dynamic_functions.dynamic_tables,
            about="NAME",
        ),
        TableFunction(
            "DYNAMIC_TABLE_REFRESH_HISTORY",
            dynamic_functions.REFRESH_ARGUMENTS,
            dynamic_functions.REFRESH_COLUMNS,
            dynamic_functions.refresh_history,
            about="NAME",
        ),
        TableFunction(
            "DYNAMIC_TABLE_GRAPH_HISTORY",
            dynamic_functions.GRAPH_ARGUMENTS,
            dynamic_functions.GRAPH_COLUMNS,
            dynamic_functions.graph_history,
            about="NAME",
        ),
    ),
    begin=_begin,
    stop=_stop,
)
