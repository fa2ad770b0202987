"""Stages and file formats as SHOW and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from snowmelt.core.names import literal
from snowmelt.features.loading.definitions import FILE_FORMAT, STAGE, format_of, stage_of
from snowmelt.runtime.metadata import formats
from snowmelt.runtime.metadata.columns import Row, columns, yes
from snowmelt.runtime.metadata.ddl_words import flag, object_name
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

STAGE_COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, url, has_credentials, has_encryption_key, owner, "
    "comment, region, type, cloud, notification_channel, storage_integration, endpoint, owner_role_type, "
    "directory_enabled"
)
FORMAT_COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, type, owner, comment, format_options, owner_role_type"
)
_CLOUDS = {"s3": "AWS", "s3a": "AWS", "gcs": "GCP", "gs": "GCP", "azure": "AZURE", "abfss": "AZURE"}
Options = Mapping[str, str | int | bool | tuple[str, ...] | None]


def stages(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, STAGE):
        definition = stage_of(item)
        yield {
            **named(item),
            "url": definition.url or "",
            "has_credentials": "N",
            "has_encryption_key": "N",
            "type": "INTERNAL NO CSE" if definition.url is None else "EXTERNAL",
            "cloud": _cloud(definition.url),
            "directory_enabled": yes(definition.directory),
        }


def _cloud(url: str | None) -> str | None:
    return None if url is None else _CLOUDS.get(url.split("://", maxsplit=1)[0].lower())


def file_formats(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, FILE_FORMAT):
        definition = format_of(item)
        yield {
            **named(item),
            "type": definition.type,
            "format_options": formats.options_json(definition.type, definition.options),
        }


def format_ddl(item: CatalogObject, qualified: bool) -> str:
    definition = format_of(item)
    lines = [f"TYPE = {definition.type}", *_format_options(definition.options)]
    if item.comment is not None:
        lines.append(f"COMMENT = {literal(item.comment)}")
    kind = "TEMPORARY " if item.session_id is not None else ""
    return (
        f"create or replace {kind}FILE FORMAT {object_name(item.name, qualified=qualified)}"
        + "".join(f"\n\t{line}" for line in lines)
        + "\n;"
    )


def _format_options(options: Options) -> list[str]:
    return [f"{name} = {_option_value(value)}" for name, value in options.items()]


def _option_value(value: str | int | bool | Iterable[str] | None) -> str:
    if value is None:
        return "NONE"
    if isinstance(value, bool):
        return flag(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return literal(value)
    return f"({', '.join(literal(item) for item in value)})"


def stage_ddl(item: CatalogObject, qualified: bool) -> str:
    definition = stage_of(item)
    lines = []
    if definition.url is not None:
        lines.append(f"URL = {literal(definition.url)}")
    if definition.directory:
        lines.append("DIRECTORY = (ENABLE = TRUE)")
    if definition.file_format:
        lines.append(f"FILE_FORMAT = ({' '.join(_format_options(definition.file_format))})")
    if item.comment is not None:
        lines.append(f"COMMENT = {literal(item.comment)}")
    kind = "TEMPORARY " if item.session_id is not None else ""
    return (
        f"create or replace {kind}STAGE {object_name(item.name, qualified=qualified)}"
        + "".join(f"\n\t{line}" for line in lines)
        + "\n;"
    )
