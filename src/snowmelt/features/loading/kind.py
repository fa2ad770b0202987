"""The kinds STAGE and FILE FORMAT, and the statements about files: all that the runtime has to know of them."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.loading.copy_statements import CopyIntoLocation, CopyIntoTable, parse_copy
from snowmelt.features.loading.definitions import FILE_FORMAT, STAGE, format_of, stage_of
from snowmelt.features.loading.file_statements import (
    CopyFiles,
    ExecuteFile,
    Get,
    ListFiles,
    Put,
    RemoveFiles,
    parse_execute_file,
    parse_get,
    parse_list,
    parse_put,
    parse_remove,
)
from snowmelt.features.loading.format_statements import (
    AlterFileFormat,
    CreateFileFormat,
    parse_alter_file_format,
    parse_create_file_format,
)
from snowmelt.features.loading.stage_statements import AlterStage, CreateStage, parse_alter_stage, parse_create_stage
from snowmelt.runtime.kinds import InProjects, KindDescription, StatementGroup
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import (
    RightsRequest,
    Subject,
    altered,
    ask,
    ask_creator,
    ask_owner,
    created,
    table_named,
)
from snowmelt.sql.statements.base import StatementKind, ddl
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax, StatementSyntax

with lazy_imports():
    from snowmelt.features.loading import listing
    from snowmelt.features.loading.copy_commands import copy_into_location, copy_into_table
    from snowmelt.features.loading.file_commands import copy_files, get, list_files, put, remove
    from snowmelt.features.loading.file_scripts import execute_file
    from snowmelt.features.loading.listing import file_formats, format_ddl, stage_ddl, stages
    from snowmelt.features.loading.stage_commands import (
        alter_file_format,
        alter_stage,
        create_file_format,
        create_stage,
    )
    from snowmelt.runtime.metadata import formats, layouts
    from snowmelt.runtime.metadata.stages import stage_properties
from snowmelt.features.loading.definitions import FileFormatDefinition
from snowmelt.state.model import StageDefinition

_TEMPORARY = frozenset({"TEMP", "TEMPORARY", "VOLATILE"})

STAGES = KindDescription(
    syntax=KindSyntax(
        STAGE,
        CreateRule(parse_create_stage, _TEMPORARY),
        parse_alter_stage,
        {CreateStage: ddl("CREATE_STAGE"), AlterStage: ddl("ALTER_STAGE")},
        is_described=True,
    ),
    noun="Stage",
    created_noun="Stage area",
    definition=StageDefinition,
    handlers={CreateStage: create_stage, AlterStage: alter_stage},
    listing=Listing(stages, paged=False),
    columns=lambda: listing.STAGE_COLUMNS,
    describe=lambda run, state, item: (layouts.DESCRIBE_STAGE, stage_properties(stage_of(item))),
    ddl=stage_ddl,
    script_order=30,
    privileges=("READ", "WRITE", "USAGE"),
    rules={"CREATE STAGE": ask_creator(STAGE), "ALTER STAGE": ask_owner()},
    requests={
        CreateStage: lambda statement: created("CREATE STAGE", STAGE, statement),
        AlterStage: lambda statement: altered("ALTER STAGE", STAGE, statement.name, statement.action),
    },
    is_renamed=True,
    leads_out=True,
    in_projects=InProjects(statement=CreateStage, drop_order=120, is_fixed=True),
)

FILE_FORMATS = KindDescription(
    syntax=KindSyntax(
        FILE_FORMAT,
        CreateRule(parse_create_file_format, _TEMPORARY),
        parse_alter_file_format,
        {CreateFileFormat: ddl("CREATE_FILE_FORMAT"), AlterFileFormat: ddl("ALTER_FILE_FORMAT")},
        is_described=True,
    ),
    noun="File format",
    definition=FileFormatDefinition,
    handlers={CreateFileFormat: create_file_format, AlterFileFormat: alter_file_format},
    listing=Listing(file_formats, paged=False),
    columns=lambda: listing.FORMAT_COLUMNS,
    describe=lambda run, state, item: (
        layouts.DESCRIBE_FILE_FORMAT,
        formats.properties(format_of(item).type, format_of(item).options),
    ),
    ddl=format_ddl,
    script_order=20,
    privileges=("USAGE",),
    rules={"CREATE FILE FORMAT": ask_creator(FILE_FORMAT), "ALTER FILE FORMAT": ask_owner()},
    requests={
        CreateFileFormat: lambda statement: created("CREATE FILE FORMAT", FILE_FORMAT, statement),
        AlterFileFormat: lambda statement: altered("ALTER FILE FORMAT", FILE_FORMAT, statement.name, statement.action),
    },
    is_renamed=True,
    in_projects=InProjects(statement=CreateFileFormat, drop_order=130),
)


def _unload(statement: CopyIntoLocation) -> list[RightsRequest]:
    """What a query in place of a table reads asks for its rights where names are resolved."""
    name = statement.table
    return [RightsRequest("COPY INTO LOCATION", source=table_named(name))] if name is not None else []


FILES = StatementGroup(
    syntax=StatementSyntax(
        {
            "COPY": parse_copy, "PUT": parse_put, "GET": parse_get, "LIST": parse_list, "LS": parse_list,
            "REMOVE": parse_remove, "RM": parse_remove, "EXECUTE IMMEDIATE FROM": parse_execute_file,
        },
        {
            CopyIntoTable: StatementKind("COPY", is_dml=True),
            CopyIntoLocation: StatementKind("UNLOAD"),
            Put: StatementKind("PUT_FILES"),
            Get: StatementKind("GET_FILES"),
            ListFiles: StatementKind("LIST_FILES"),
            RemoveFiles: StatementKind("REMOVE_FILES"),
            ExecuteFile: StatementKind("EXECUTE_IMMEDIATE"),
            CopyFiles: StatementKind("COPY_FILES"),
        },
    ),
    handlers={
        CopyIntoTable: copy_into_table,
        CopyIntoLocation: copy_into_location,
        Put: put,
        Get: get,
        ListFiles: list_files,
        RemoveFiles: remove,
        ExecuteFile: execute_file,
        CopyFiles: copy_files,
    },
    rules={"COPY INTO TABLE": (ask(Subject.TARGET, "INSERT"),)},
    requests={
        CopyIntoTable: lambda statement: RightsRequest("COPY INTO TABLE", table_named(statement.target)),
        CopyIntoLocation: _unload,
    },
)  # fmt: skip
