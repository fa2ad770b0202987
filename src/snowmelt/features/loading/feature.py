"""Stages, files, and loading them."""

from __future__ import annotations

from snowmelt.features.loading import functions, history, inference, staged_query
from snowmelt.features.loading.kind import FILE_FORMATS, FILES, STAGES
from snowmelt.features.loading.stage_folders import Digests
from snowmelt.runtime import histories
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.table_functions import TableFunction


def _begin(account: Account) -> None:
    account.services.add(Digests())
    account.staged_files = staged_query.relation
    account.lifecycle.emptied.subscribe(history.forget)


FEATURE = Feature(
    "loading",
    kinds=(FILE_FORMATS, STAGES),
    groups=(FILES,),
    table_functions=(
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
    begin=_begin,
)
