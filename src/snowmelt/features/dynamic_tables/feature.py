"""Dynamic tables: queries whose results are kept up to date."""

from __future__ import annotations

from datetime import datetime

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.dynamic_tables.interrupted import end_refreshes
from snowmelt.features.dynamic_tables.kind import EXPLAIN, KIND
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.schema_objects import is_dynamic
from snowmelt.runtime.stopping import StopTimes
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateTransaction

with lazy_imports():
    from snowmelt.features.dynamic_tables import change_sets, landing, scheduling, service, sql_functions
    from snowmelt.features.dynamic_tables.cloned import add
    from snowmelt.runtime.incremental import kept


_WAKING = frozenset(
    {"CREATE_DYNAMIC_TABLE", "ALTER_DYNAMIC_TABLE", "REFRESH_DYNAMIC_TABLE", "UNDROP_DYNAMIC_TABLE", "UNDROP_TABLE"}
)
"""Statements after which a dynamic table may be due, or free."""


def _begin(account: Account) -> None:
    end_refreshes(account.state)
    account.services.offer(service, "DynamicTables", account)
    account.services.offer(kept, "KeptPlans")
    account.services.offer(change_sets, "ChangeSets")

    def wake() -> None:
        if account.services.is_made("DynamicTables"):
            account.services[service.DynamicTables].wake()

    def note_commit(tables: frozenset[str], at: datetime) -> None:
        if account.services.is_made("DynamicTables"):
            account.services[service.DynamicTables].note_commit(tables, at)

    account.lifecycle.table_cloned.subscribe(add)
    account.lifecycle.refused_by_checks.subscribe(_suspend)
    account.lifecycle.dropped.subscribe(_dropped)
    account.lifecycle.restored.subscribe(_restored)
    account.events.wake_after(_WAKING, wake)
    account.events.rows_committed.subscribe(note_commit)


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
    kinds=(KIND,),
    groups=(EXPLAIN,),
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    stop=_stop,
)
