"""The functions of SQL that the feature adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import types
from snowmelt.features.data_catalog import snapshot as data_catalog
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.system_functions import Arguments as Values
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import Arguments, TableFunction
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _catalog_snapshot(run: Run, state: StateReader, _: Values) -> str:
    return data_catalog.snapshot(run, state).model_dump_json()


def _search_catalog(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    return data_catalog.search_rows(run, state, arguments.text("SEARCH_TEXT") or "")[: arguments.limit(100)]


FUNCTIONS = SqlFunctions(
    system={"SYSTEM$CATALOG_SNAPSHOT": SystemFunction(0, 0, types.VARCHAR, _catalog_snapshot)},
    tables=(
        TableFunction(
            "SEARCH_CATALOG", ("SEARCH_TEXT", "RESULT_LIMIT"), data_catalog.SEARCHED, _search_catalog, required=1
        ),
    ),
)
