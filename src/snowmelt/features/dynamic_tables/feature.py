"""Dynamic tables: queries whose results are kept up to date."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.dynamic_tables.interrupted import end_refreshes
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes
from snowmelt.sql.statements.dynamic_tables import AlterDynamicTable, CreateDynamicTable, ExplainDynamicTable
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateTransaction

with lazy_imports():
    from snowmelt.features.dynamic_tables import scheduling, service, sql_functions
    from snowmelt.features.dynamic_tables.cloned import add
    from snowmelt.features.dynamic_tables.commands import (
        alter_dynamic_table,
        create_dynamic_table,
        explain_dynamic_table,
    )


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
    account.events.wake_after(_WAKING, wake)


def _suspend(state: StateTransaction, table: CatalogObject, _: str | None) -> None:
    if isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None:
        scheduling.suspend(state, table, scheduling.BY_QUALITY)


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("DynamicTables"):
        account.services[service.DynamicTables].stop(times.grace, times.cancelling)


FEATURE = Feature(
    "dynamic_tables",
    functions=lambda: sql_functions.FUNCTIONS,
    handlers={
        CreateDynamicTable: create_dynamic_table,
        AlterDynamicTable: alter_dynamic_table,
        ExplainDynamicTable: explain_dynamic_table,
    },
    begin=_begin,
    stop=_stop,
)
