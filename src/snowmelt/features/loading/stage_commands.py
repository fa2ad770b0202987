"""CREATE and ALTER of stages and file formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.loading import file_formats, stage_folders
from snowmelt.features.loading.definitions import FILE_FORMAT, STAGE, FileFormatDefinition
from snowmelt.features.loading.format_statements import (
    OPTIONS_OF,
    AlterFileFormat,
    CreateFileFormat,
    FileFormatSpec,
    SetFormatOptions,
)
from snowmelt.features.loading.stage_statements import AlterStage, CreateStage, RefreshStage, StageOptions
from snowmelt.features.relations.alter_tables import rename
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject, StageDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

STAGES = "stages"
"""The folder below the storage root that holds the files of internal stages."""


def create_stage(run: Run, statement: CreateStage) -> Result:
    options = statement.options
    if options.url is not None:
        stage_folders.check_url(run.account, options.url)
    id = new_id()
    definition = StageDefinition(
        url=options.url,
        location=f"{STAGES}/{id}" if options.url is None else None,
        file_format=_format(run, options.file_format),
        directory=bool(options.directory and options.directory.enable),
    )
    return schema_objects.create(
        run,
        STAGE,
        statement.name,
        definition,
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        temporary=statement.temporary,
        comment=options.comment,
        id=id,
    )


def _format(run: Run, spec: FileFormatSpec | None) -> dict[str, Any]:
    """What FILE_FORMAT says, as the catalog keeps it: the full name of a format, or a type with options."""
    if spec is None:
        return {}
    if spec.name is None:
        file_formats.check(spec.type or "CSV", spec.options)
        return {"TYPE": spec.type or "CSV", **spec.options}
    with run.state.read() as state:
        found = schema_objects.require(run, state, FILE_FORMAT, spec.name)
    return {"FORMAT_NAME": str(found.name)}


def alter_stage(run: Run, statement: AlterStage) -> Result:
    stage = schema_objects.to_alter(run, STAGE, statement.name, if_exists=statement.if_exists)
    if stage is None:
        return status(DONE, "ALTER_STAGE")
    match statement.action:
        case RenameTo(new_name=new_name):
            rename(run, stage, new_name)
        case SetOptions(options=options):
            assert isinstance(options, StageOptions)
            _set_stage(run, stage, options)
        case UnsetOptions(names=names):
            refused = [name for name in names if name != "COMMENT"]
            if refused:
                raise errors.unsupported(f"ALTER STAGE … UNSET {refused[0]}")
            schema_objects.alter(run, stage, {}, uncomment=True)
        case RefreshStage():
            assert isinstance(stage.definition, StageDefinition)
            if not stage.definition.directory:
                raise errors.compilation("093552", "0A000", f"Stage '{stage.name}' does not have a directory table.")
        case _:
            raise errors.unsupported_action("STAGE", statement.action)
    return status(DONE, "ALTER_STAGE")


def _set_stage(run: Run, stage: CatalogObject, options: StageOptions) -> None:
    assert isinstance(stage.definition, StageDefinition)
    changed: dict[str, Any] = {}
    if options.url is not None:
        if stage.definition.url is None:
            raise errors.unsupported("ALTER STAGE … SET URL on an internal stage")
        stage_folders.check_url(run.account, options.url)
        changed["url"] = options.url
    if options.file_format is not None:
        changed["file_format"] = _format(run, options.file_format)
    if options.directory is not None and options.directory.enable is not None:
        changed["directory"] = options.directory.enable
    schema_objects.alter(run, stage, changed, comment=options.comment)


def create_file_format(run: Run, statement: CreateFileFormat) -> Result:
    file_formats.check(statement.type, statement.options)
    return schema_objects.create(
        run,
        FILE_FORMAT,
        statement.name,
        FileFormatDefinition(type=statement.type, options=dict(statement.options)),
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        temporary=statement.temporary,
        comment=statement.comment,
    )


def alter_file_format(run: Run, statement: AlterFileFormat) -> Result:
    found = schema_objects.to_alter(run, FILE_FORMAT, statement.name, if_exists=statement.if_exists)
    if found is None:
        return status(DONE, "ALTER_FILE_FORMAT")
    definition = found.definition
    assert isinstance(definition, FileFormatDefinition)
    match statement.action:
        case RenameTo(new_name=new_name):
            rename(run, found, new_name)
        case SetFormatOptions(options=options, comment=comment):
            for name in options:
                if name not in OPTIONS_OF[definition.type]:
                    raise errors.invalid_property(name, definition.type)
            changed = {**definition.options, **options}
            file_formats.check(definition.type, changed)
            schema_objects.alter(run, found, {"options": changed}, comment=comment)
        case _:
            raise errors.unsupported_action("FILE FORMAT", statement.action)
    return status(DONE, "ALTER_FILE_FORMAT")
