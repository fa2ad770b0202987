"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.features.loading import functions, inference
from snowmelt.runtime import histories
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    tables=(
        TableFunction(
            "INFER_SCHEMA",
            ("LOCATION", "FILE_FORMAT", "FILES", "IGNORE_CASE", "MAX_FILE_COUNT", "MAX_RECORDS_PER_FILE"),
            inference.COLUMNS,
            functions.infer_schema,
            required=1,
        ),
        TableFunction(
            "COPY_HISTORY",
            ("TABLE_NAME", "START_TIME", "END_TIME", "PIPE_NAME"),
            histories.COPY_COLUMNS,
            functions.copy_history,
            required=2,
        ),
    ),
)
