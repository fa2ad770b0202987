"""COPY INTO a table or a location."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from snowmelt.core import errors
from snowmelt.features.loading.file_statements import CopyFiles, parse_copy_files
from snowmelt.features.loading.format_statements import FileFormatSpec, file_format
from snowmelt.features.loading.stage_statements import ExternalOptions, Location, at_location, location
from snowmelt.sql.statements.base import NameRef, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.options import (
    at_option,
    boolean,
    merged,
    one_of,
    read_options,
    strings,
    text,
    whole,
    word,
)
from snowmelt.sql.tokens import SqlText

_SKIP_FILE = re.compile(r"SKIP_FILE_(\d{1,9})(%?)\Z")
_RETURN_ROWS = re.compile(r"RETURN_\d{1,9}_ROWS\Z")


@dataclass(frozen=True, slots=True)
class CopyOnError:
    action: Literal["CONTINUE", "SKIP_FILE", "ABORT_STATEMENT"]
    limit: int | None = None
    """SKIP_FILE_n: the file is skipped from so many bad rows on."""
    percent: bool = False
    """Whether the limit is a percentage of the rows."""


def _on_error(cursor: TokenCursor, name: str) -> CopyOnError:
    start = cursor.peek()
    value = word(cursor, name)
    if cursor.peek().word == "%" and cursor.peek().start == start.end:
        value += cursor.advance().word
    match value:
        case "CONTINUE":
            return CopyOnError("CONTINUE")
        case "SKIP_FILE":
            return CopyOnError("SKIP_FILE")
        case "ABORT_STATEMENT":
            return CopyOnError("ABORT_STATEMENT")
    match = _SKIP_FILE.match(value)
    if match is None or (match[2] and not 0 <= int(match[1]) <= 100):
        raise errors.invalid_value(value, name)
    return CopyOnError("SKIP_FILE", int(match[1]), bool(match[2]))


def _validation_mode(cursor: TokenCursor, name: str) -> str:
    value = word(cursor, name)
    if value not in ("RETURN_ERRORS", "RETURN_ALL_ERRORS", "RETURN_ROWS") and not _RETURN_ROWS.match(value):
        raise errors.invalid_value(value, name)
    return value


def _not_here(cursor: TokenCursor, name: str) -> None:
    raise errors.unsupported(f"COPY INTO … {name}")


@dataclass(frozen=True, slots=True)
class CopyOptions(ExternalOptions):
    files: Annotated[tuple[str, ...] | None, strings] = None
    pattern: Annotated[str | None, text] = None
    file_format: Annotated[FileFormatSpec | None, file_format] = None
    on_error: Annotated[CopyOnError | None, _on_error] = None
    size_limit: Annotated[int | None, whole] = None
    purge: Annotated[bool | None, boolean] = None
    return_failed_only: Annotated[bool | None, boolean] = None
    match_by_column_name: Annotated[str | None, one_of("CASE_SENSITIVE", "CASE_INSENSITIVE", "NONE")] = None
    enforce_length: Annotated[bool | None, boolean] = None
    truncatecolumns: Annotated[bool | None, boolean] = None
    force: Annotated[bool | None, boolean] = None
    load_uncertain_files: Annotated[bool | None, boolean] = None
    validation_mode: Annotated[str | None, _validation_mode] = None
    include_metadata: Annotated[None, _not_here] = None
    load_mode: Annotated[None, _not_here] = None
    cluster_at_ingest_time: Annotated[None, _not_here] = None


@dataclass(frozen=True, slots=True)
class UnloadOptions(ExternalOptions):
    file_format: Annotated[FileFormatSpec | None, file_format] = None
    overwrite: Annotated[bool | None, boolean] = None
    single: Annotated[bool | None, boolean] = None
    max_file_size: Annotated[int | None, whole] = None
    include_query_id: Annotated[bool | None, boolean] = None
    detailed_output: Annotated[bool | None, boolean] = None
    header: Annotated[bool | None, boolean] = None
    validation_mode: Annotated[str | None, _validation_mode] = None


@dataclass(frozen=True, slots=True)
class CopyIntoTable(Statement):
    target: NameRef
    columns: tuple[str, ...] | None
    source: Location | None
    """None with a query, and where FROM was left out: the files are then in the table's own stage."""
    query: SqlText | None
    """`SELECT … FROM @stage …`, which changes the rows on their way."""
    options: CopyOptions = CopyOptions()


@dataclass(frozen=True, slots=True)
class CopyIntoLocation(Statement):
    """Exactly one of `table` and `query` is there."""

    target: Location
    table: NameRef | None
    query: SqlText | None
    partition_by: SqlText | None = None
    options: UnloadOptions = UnloadOptions()


def parse_copy(cursor: TokenCursor) -> CopyIntoTable | CopyIntoLocation | CopyFiles:
    if cursor.match("FILES"):
        return parse_copy_files(cursor)
    cursor.expect("INTO")
    if at_location(cursor):
        return _into_location(cursor)
    target = cursor.name()
    columns = cursor.identifiers() if cursor.at("(") else None
    source: Location | None = None
    query: SqlText | None = None
    if cursor.match("FROM"):
        if cursor.at("("):
            query = cursor.inside()
        else:
            source = location(cursor)
    return CopyIntoTable(target, columns, source, query, read_options(cursor, CopyOptions, "COPY"))


def _into_location(cursor: TokenCursor) -> CopyIntoLocation:
    target = location(cursor)
    cursor.expect("FROM")
    table: NameRef | None = None
    query: SqlText | None = None
    if cursor.at("("):
        query = cursor.inside()
    else:
        table = cursor.name()
    partition_by: SqlText | None = None
    pieces: list[UnloadOptions] = []
    while not cursor.at_end:
        if cursor.at("PARTITION", "BY") and partition_by is None:
            cursor.index += 2
            partition_by = cursor.inside() if cursor.at("(") else cursor.until(*_UNLOAD_WORDS)
        elif at_option(cursor):
            pieces.append(read_options(cursor, UnloadOptions, "COPY"))
        else:
            raise cursor.unexpected()
    return CopyIntoLocation(target, table, query, partition_by, merged(UnloadOptions, pieces))


_UNLOAD_WORDS = ("FILE_FORMAT", "OVERWRITE", "SINGLE", "MAX_FILE_SIZE", "HEADER", "INCLUDE_QUERY_ID")
