"""Stages, files, and loading them."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.loading.file_statements import ExecuteFile
from snowmelt.features.loading.kind import FILE_FORMATS, FILES, STAGES
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.loading import information_schema, sql_functions, stage_folders
    from snowmelt.features.loading.history import forget
    from snowmelt.features.loading.staged_query import relation


def _begin(account: Account) -> None:
    account.services.offer(stage_folders, "Digests")
    account.staged_files = relation
    account.lifecycle.emptied.subscribe(forget)


FEATURE = Feature(
    "loading",
    kinds=(FILE_FORMATS, STAGES),
    groups=(FILES,),
    scripts=(ExecuteFile,),
    views=lambda: information_schema.VIEWS,
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
)
