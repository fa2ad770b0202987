"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.lineage import functions as lineage
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$LINEAGE": SystemFunction(1, 3, types.VARCHAR, lineage.described),
        "SYSTEM$LINEAGE_GRAPH": SystemFunction(0, 0, types.VARCHAR, lineage.whole),
    },
    core=(TableFunction("GET_LINEAGE", lineage.ARGUMENTS, lineage.COLUMNS, lineage.get_lineage, required=3),),
)
