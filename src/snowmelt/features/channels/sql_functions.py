"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.features.channels import error_tables
from snowmelt.features.channels import listing as channels
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    relations={"ERROR_TABLE": error_tables.relation},
    tables=(
        TableFunction(
            "SNOWPIPE_STREAMING_CHANNEL_HISTORY",
            channels.HISTORY_ARGUMENTS,
            channels.HISTORY_COLUMNS,
            channels.history,
            about="TABLE_NAME",
        ),
    ),
)
