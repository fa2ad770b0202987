"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.upkeep import functions as upkeep
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$UPKEEP": SystemFunction(0, 0, types.VARCHAR, upkeep.run_upkeep, only_called=True),
        "SYSTEM$UPKEEP_PLAN": SystemFunction(0, 0, types.VARCHAR, upkeep.planned),
    },
    tables=(TableFunction("UPKEEP_HISTORY", ("RESULT_LIMIT",), upkeep.HISTORY_COLUMNS, upkeep.history),),
)
