"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.dynamic_tables import checks
from snowmelt.features.dynamic_tables import functions as dynamic_functions
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$CHECK_DYNAMIC_TABLE": SystemFunction(1, 1, types.VARCHAR, checks.check_dynamic_table),
        "SYSTEM$REFRESH_CHANGES": SystemFunction(2, 4, types.VARCHAR, checks.refresh_changes),
        "SYSTEM$CHECK_SCD": SystemFunction(1, 2, types.VARCHAR, checks.check_scd),
    },
    tables=(
        TableFunction(
            "DYNAMIC_TABLES",
            dynamic_functions.TABLE_ARGUMENTS,
            dynamic_functions.TABLE_COLUMNS,
            dynamic_functions.dynamic_tables,
            about="NAME",
            inner=("LAST_COMPLETED_REFRESH_STATE_MESSAGE",),
        ),
        TableFunction(
            "DYNAMIC_TABLE_REFRESH_HISTORY",
            dynamic_functions.REFRESH_ARGUMENTS,
            dynamic_functions.REFRESH_COLUMNS,
            dynamic_functions.refresh_history,
            about="NAME",
            inner=(
                "STATE_MESSAGE",
                "LAST_COMPLETED_DEPENDENCY",
                "INPUTS_WITH_CHANGED_DATA",
                "REINIT_REASON",
                "DETAILS",
            ),
        ),
        TableFunction(
            "DYNAMIC_TABLE_GRAPH_HISTORY",
            dynamic_functions.GRAPH_ARGUMENTS,
            dynamic_functions.GRAPH_COLUMNS,
            dynamic_functions.graph_history,
            about="NAME",
            inner=("QUERY_TEXT", "INPUTS"),
        ),
    ),
)
