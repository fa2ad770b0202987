"""PUT, GET, LIST and REMOVE: the files of a stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.features.loading.stage_statements import Location, StageLocation, UrlLocation, location
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.options import Options, boolean, read_options, strings, text, whole, word


@dataclass(frozen=True, slots=True)
class PutOptions(Options):
    parallel: Annotated[int | None, whole] = None
    auto_compress: Annotated[bool | None, boolean] = None
    source_compression: Annotated[str | None, word] = None
    overwrite: Annotated[bool | None, boolean] = None


@dataclass(frozen=True, slots=True)
class GetOptions(Options):
    parallel: Annotated[int | None, whole] = None
    pattern: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class PatternOption(Options):
    pattern: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class Put(Statement):
    source: str
    """A `file://` URL, perhaps with wild cards."""
    target: StageLocation
    options: PutOptions = PutOptions()


@dataclass(frozen=True, slots=True)
class Get(Statement):
    source: StageLocation
    target: str
    """The `file://` URL of a folder."""
    options: GetOptions = GetOptions()


@dataclass(frozen=True, slots=True)
class ListFiles(Statement):
    location: StageLocation
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveFiles(Statement):
    location: StageLocation
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ExecuteFile(Statement):
    """EXECUTE IMMEDIATE FROM."""

    location: StageLocation


@dataclass(frozen=True, slots=True)
class CopyFilesOptions(Options):
    files: Annotated[tuple[str, ...] | None, strings] = None
    pattern: Annotated[str | None, text] = None
    detailed_output: Annotated[bool | None, boolean] = None


@dataclass(frozen=True, slots=True)
class CopyFiles(Statement):
    target: StageLocation
    source: StageLocation
    options: CopyFilesOptions = CopyFilesOptions()


def _stage(cursor: TokenCursor) -> StageLocation:
    token = cursor.peek()
    found: Location = location(cursor)
    if not isinstance(found, StageLocation):
        raise cursor.unexpected(token)
    return found


def _local(cursor: TokenCursor) -> str:
    token = cursor.peek()
    found: Location = location(cursor)
    if not isinstance(found, UrlLocation) or not found.url.lower().startswith("file://"):
        raise cursor.unexpected(token)
    return found.url


def parse_put(cursor: TokenCursor) -> Put:
    source = _local(cursor)
    return Put(source, _stage(cursor), read_options(cursor, PutOptions, "PUT"))


def parse_get(cursor: TokenCursor) -> Get:
    source = _stage(cursor)
    return Get(source, _local(cursor), read_options(cursor, GetOptions, "GET"))


def parse_copy_files(cursor: TokenCursor) -> CopyFiles:
    """Behind COPY FILES."""
    cursor.expect("INTO")
    target = _stage(cursor)
    cursor.expect("FROM")
    if cursor.at("("):
        raise errors.unsupported("COPY FILES … FROM (query)", hint="Name the files: FROM @stage FILES = ('…', '…').")
    source = _stage(cursor)
    options = read_options(cursor, CopyFilesOptions, "COPY FILES")
    if options.files is not None and options.pattern is not None:
        raise errors.compilation("001008", "22023", "FILES can't be combined with PATTERN.")
    return CopyFiles(target, source, options)


def parse_list(cursor: TokenCursor) -> ListFiles:
    position = _stage(cursor)
    return ListFiles(position, read_options(cursor, PatternOption, "LIST").pattern)


def parse_execute_file(cursor: TokenCursor) -> ExecuteFile:
    found = _stage(cursor)
    if cursor.at("USING") or cursor.at("DRY_RUN"):
        raise errors.unsupported(
            f"EXECUTE IMMEDIATE FROM … {cursor.peek().word}", hint="Render the file's template before PUT."
        )
    return ExecuteFile(found)


def parse_remove(cursor: TokenCursor) -> RemoveFiles:
    position = _stage(cursor)
    return RemoveFiles(position, read_options(cursor, PatternOption, "REMOVE").pattern)
