"""Dynamic tables: queries whose results are kept up to date."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.dynamic_tables import checks, cloned, scheduling
from snowmelt.features.dynamic_tables import functions as dynamic_functions
from snowmelt.features.dynamic_tables.commands import HANDLERS
from snowmelt.features.dynamic_tables.interrupted import end_refreshes
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction
from snowmelt.state.model import CatalogObject, TableDefinition
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
    account.events.wake_after(_WAKING, tables.wake)


def _suspend(state: StateTransaction, table: CatalogObject, _: str | None) -> None:
    if isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None:
        scheduling.suspend(state, table, scheduling.BY_QUALITY)


def _stop(account: Account, times: StopTimes) -> None:
    account.services[DynamicTables].stop(times.grace, times.cancelling)


FEATURE = Feature(
    "dynamic_tables",
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
