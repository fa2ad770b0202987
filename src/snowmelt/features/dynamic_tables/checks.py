"""SYSTEM$ functions that check a table against its definition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.system_functions import Arguments, table_argument, text
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def check_dynamic_table(run: Run, state: StateReader, arguments: Arguments) -> str:
    name = "SYSTEM$CHECK_DYNAMIC_TABLE"
    table, definition = table_argument(run, state, text(arguments[0], "table_name"), name, "SELECT")
    if definition.dynamic is None:
        raise errors.wrong_kind(table.kind, "DYNAMIC_TABLE")
    _refuse_guarded(run, state, table, name)
    return json.dumps(run.account.services[DynamicTables].check(table, run))


def _refuse_guarded(run: Run, state: StateReader, table: CatalogObject, name: str) -> None:
    """What these functions show are rows as they are stored."""
    if run.account.policies.references(state, table):
        raise errors.unsupported(f"{name} of a dynamic table with policies", hint="Query it: its policies hold there.")


def refresh_changes(run: Run, state: StateReader, arguments: Arguments) -> str:
    """SYSTEM$REFRESH_CHANGES(table_name, query_id [, source, change_numbers])."""
    name = "SYSTEM$REFRESH_CHANGES"
    table, definition = table_argument(run, state, text(arguments[0], "table_name"), name, "SELECT")
    if definition.dynamic is None:
        raise errors.wrong_kind(table.kind, "DYNAMIC_TABLE")
    _refuse_guarded(run, state, table, name)
    if len(arguments) == 3:
        raise errors.invalid_value("", "change_numbers")
    source = text(arguments[2], "source") if len(arguments) > 2 else None
    numbers = _numbers(text(arguments[3], "change_numbers")) if source is not None else ()
    tables = run.account.services[DynamicTables]
    return json.dumps(tables.refresh_changes(run, table, text(arguments[1], "query_id"), source, numbers))


def _numbers(written: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(part) for part in written.split(",")))
    except ValueError:
        raise errors.invalid_value(written, "change_numbers") from None


def check_scd(run: Run, state: StateReader, arguments: Arguments) -> str:
    table, _ = table_argument(run, state, text(arguments[0], "table_name"), "SYSTEM$CHECK_SCD", "SELECT")
    key = text(arguments[1], "key_columns") if len(arguments) > 1 else None
    return json.dumps(run.account.services[DynamicTables].check_versions(run, table, key))
