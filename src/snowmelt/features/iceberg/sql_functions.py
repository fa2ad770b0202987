"""The functions of SQL that the feature adds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from snowmelt.core import types
from snowmelt.features.iceberg.tables import published
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import Arguments, SystemFunction, text
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _information(run: Run, state: StateReader, arguments: Arguments) -> str:
    found = published(run, state, text(arguments[0], "table_name"))
    return json.dumps({"metadataLocation": found.address, "status": "success"})


FUNCTIONS = SqlFunctions(
    system={"SYSTEM$GET_ICEBERG_TABLE_INFORMATION": SystemFunction(1, 1, types.VARCHAR, _information)}
)
