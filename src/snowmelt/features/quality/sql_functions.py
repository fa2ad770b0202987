"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.features.quality import listing as quality
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    tables=(
        TableFunction(
            "QUALITY_CHECK_HISTORY",
            quality.HISTORY_ARGUMENTS,
            quality.HISTORY_COLUMNS,
            quality.history,
            about="TABLE_NAME",
        ),
    ),
)
