"""Stages, files, and loading them."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.sql.statements.copy import CopyIntoLocation, CopyIntoTable
from snowmelt.sql.statements.file_formats import AlterFileFormat, CreateFileFormat
from snowmelt.sql.statements.files import Get, ListFiles, Put, RemoveFiles
from snowmelt.sql.statements.stages import AlterStage, CreateStage

with lazy_imports():
    from snowmelt.features.loading import sql_functions, stage_folders
    from snowmelt.features.loading.copy_commands import copy_into_location, copy_into_table
    from snowmelt.features.loading.file_commands import get, list_files, put, remove
    from snowmelt.features.loading.stage_commands import (
        alter_file_format,
        alter_stage,
        create_file_format,
        create_stage,
    )
    from snowmelt.features.loading.staged_query import relation


def _begin(account: Account) -> None:
    account.services.offer(stage_folders, "Digests")
    account.staged_files = relation


FEATURE = Feature(
    "loading",
    functions=lambda: sql_functions.FUNCTIONS,
    handlers={
        CreateStage: create_stage,
        AlterStage: alter_stage,
        CreateFileFormat: create_file_format,
        AlterFileFormat: alter_file_format,
        CopyIntoTable: copy_into_table,
        CopyIntoLocation: copy_into_location,
        Put: put,
        Get: get,
        ListFiles: list_files,
        RemoveFiles: remove,
    },
    begin=_begin,
)
