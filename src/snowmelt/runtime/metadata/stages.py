"""The properties of a stage, as DESCRIBE STAGE lists them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from snowmelt.runtime.metadata import formats
from snowmelt.runtime.metadata.columns import Row
from snowmelt.state.model import StageDefinition

_COPY_OPTIONS = (
    ("ON_ERROR", "String", "ABORT_STATEMENT"),
    ("SIZE_LIMIT", "Long", ""),
    ("PURGE", "Boolean", "false"),
    ("RETURN_FAILED_ONLY", "Boolean", "false"),
    ("ENFORCE_LENGTH", "Boolean", "true"),
    ("TRUNCATECOLUMNS", "Boolean", "false"),
    ("FORCE", "Boolean", "false"),
)


def stage_properties(definition: StageDefinition) -> Iterator[Row]:
    yield from _file_format(definition)
    for name, type_, default in _COPY_OPTIONS:
        yield _row("STAGE_COPY_OPTIONS", name, type_, default, default)
    location = json.dumps([definition.url]) if definition.url is not None else ""
    yield _row("STAGE_LOCATION", "URL", "String", location, "")
    yield _row("DIRECTORY", "ENABLE", "Boolean", formats.shown(definition.directory), "false")
    yield _row("DIRECTORY", "AUTO_REFRESH", "Boolean", "false", "false")


def _file_format(definition: StageDefinition) -> Iterator[Row]:
    given = dict(definition.file_format)
    named = given.pop("FORMAT_NAME", None)
    if named is not None:
        yield _row("STAGE_FILE_FORMAT", "FORMAT_NAME", "String", str(named), "")
        return
    type_ = str(given.pop("TYPE", "CSV"))
    for row in formats.properties(type_, given):
        yield {"parent_property": "STAGE_FILE_FORMAT", **row}


def _row(parent: str, name: str, type_: str, value: str, default: str) -> Row:
    return {
        "parent_property": parent,
        "property": name,
        "property_type": type_,
        "property_value": value,
        "property_default": default,
    }
