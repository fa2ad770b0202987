"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.streams import functions
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$STREAM_GET_TABLE_TIMESTAMP": SystemFunction(1, 1, types.INTEGER, functions.table_timestamp),
        "SYSTEM$STREAM_HAS_DATA": SystemFunction(1, 1, types.BOOLEAN, functions.has_data),
    },
)
