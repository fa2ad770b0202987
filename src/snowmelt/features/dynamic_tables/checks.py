"""SYSTEM$ functions that check a table against its definition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.system_functions import Arguments, table_argument, text
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def check_dynamic_table(run: Run, state: StateReader, arguments: Arguments) -> str:
    name = "SYSTEM$CHECK_DYNAMIC_TABLE"
    table, definition = table_argument(run, state, text(arguments[0], "table_name"), name)
    if definition.dynamic is None:
        raise errors.wrong_kind(table.kind, "DYNAMIC_TABLE")
    return json.dumps(run.account.services[DynamicTables].check(table, run))


def check_scd(run: Run, state: StateReader, arguments: Arguments) -> str:
    table, _ = table_argument(run, state, text(arguments[0], "table_name"), "SYSTEM$CHECK_SCD")
    key = text(arguments[1], "key_columns") if len(arguments) > 1 else None
    return json.dumps(run.account.services[DynamicTables].check_versions(run, table, key))
