"""Locations of files (`@stage/path`, URLs), and CREATE and ALTER STAGE."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.features.loading.format_statements import FileFormatSpec, file_format
from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions, refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.options import (
    Options,
    Outside,
    WithoutEffect,
    at_option,
    boolean,
    read_options,
    read_unset,
    text,
    word,
)
from snowmelt.sql.tokens import TokenKind

_STAGE = re.compile(r'@((?:"[^"]*"|[^/"])*)(?:/(.*))?\Z', re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ENCRYPTIONS = frozenset({"AWS_SSE_S3", "AWS_SSE_KMS", "GCS_SSE_KMS", "SNOWFLAKE_FULL", "SNOWFLAKE_SSE", "NONE"})
"""Those that the store does by itself."""
_LIVE = "a directory table lists the files that are there"
_ENVIRONMENT = "Keep secrets out of SQL: the engine takes a store's credentials from its environment."


@dataclass(frozen=True, slots=True)
class StageLocation:
    kind: Literal["NAMED", "TABLE", "USER"]
    name: NameRef | None
    """The stage, the table of `@%t`, or None for the user's own `@~`."""
    path: str = ""
    """Behind the first slash, as written."""


@dataclass(frozen=True, slots=True)
class UrlLocation:
    url: Annotated[str, Outside.ADDRESS]
    """`file://…`, `s3://…` and the like."""


Location = StageLocation | UrlLocation


def at_location(cursor: TokenCursor) -> bool:
    return cursor.at("@") or cursor.at("FILE://") or cursor.at_kind(TokenKind.STRING)


def location(cursor: TokenCursor) -> Location:
    """`@stage/path`, bare or quoted, or a URL."""
    token = cursor.peek()
    line, position = cursor.source.position(token.start)
    written = cursor.string() if token.kind is TokenKind.STRING else _bare_path(cursor)
    found = written_location(written, line, position)
    if found is None:
        raise cursor.unexpected(token)
    return found


def written_location(written: str, line: int = 1, position: int = 0) -> Location | None:
    """The location that a text such as `@stage/path` or a URL names; None when it is neither."""
    if written.startswith("@"):
        return _stage_location(written, line, position)
    return UrlLocation(written) if _URL.match(written) else None


def _bare_path(cursor: TokenCursor) -> str:
    """The tokens that stand together without white space: `@db.s.stage/day=1/a.csv` is many of them."""
    if not cursor.at_any(("@", "FILE://")):
        raise cursor.unexpected()
    start = cursor.peek().start
    end = cursor.advance().end
    while cursor.peek().start == end and not cursor.at_any((";", ")", ",")):
        if cursor.at_kind(TokenKind.END):
            break
        end = cursor.advance().end
    return cursor.source.sql.text[start:end]


def _stage_location(written: str, line: int, position: int) -> StageLocation | None:
    match = _STAGE.match(written)
    if match is None:
        return None
    stage, path = match[1], match[2] or ""
    if stage == "~":
        return StageLocation("USER", None, path)
    mark = _table_mark(stage)
    parts = split_name(stage if mark is None else stage[:mark] + stage[mark + 1 :])
    if parts is None or len(parts) > 3:
        raise errors.invalid_identifier(stage, line, position)
    return StageLocation("NAMED" if mark is None else "TABLE", NameRef(parts, line, position), path)


def _table_mark(stage: str) -> int | None:
    """Where the `%` of a table's own stage is, which may stand inside the quotes: `%t`, `s.%t`, `"S"."%T"`."""
    last, quoted = 0, False
    for index, character in enumerate(stage):
        if character == '"':
            quoted = not quoted
        elif character == "." and not quoted:
            last = index + 1
    mark = last + stage.startswith('"', last)
    return mark if stage.startswith("%", mark) else None


def _encryption(cursor: TokenCursor, name: str) -> str:
    """The TYPE of `ENCRYPTION = (TYPE = 'AWS_SSE_KMS' KMS_KEY_ID = '…')`; a key written there is refused."""
    kind = "NONE"
    cursor.expect("(")
    while not cursor.match(")"):
        if not at_option(cursor):
            raise cursor.unexpected()
        option_name = cursor.peek().word
        if option_name == "MASTER_KEY":
            raise errors.unsupported("ENCRYPTION … MASTER_KEY", hint=_ENVIRONMENT)
        if option_name not in ("TYPE", "KMS_KEY_ID"):
            raise errors.invalid_property(option_name, "ENCRYPTION")
        cursor.index += 2
        value = word(cursor, option_name)
        kind = value if option_name == "TYPE" else kind
        cursor.match(",")
    if kind in ("AWS_CSE", "AZURE_CSE"):
        raise errors.unsupported(f"ENCRYPTION = (TYPE = '{kind}')", hint=_ENVIRONMENT)
    if kind not in _ENCRYPTIONS:
        raise errors.invalid_value(kind, "ENCRYPTION TYPE")
    return kind


def _credentials(cursor: TokenCursor, name: str) -> None:
    raise errors.unsupported("CREDENTIALS", hint=_ENVIRONMENT)


def _integration(cursor: TokenCursor, name: str) -> None:
    raise errors.unsupported("STORAGE_INTEGRATION", hint=_ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class DirectoryOptions(Options):
    enable: Annotated[bool | None, boolean] = None
    refresh_on_create: Annotated[bool | None, boolean, WithoutEffect(_LIVE)] = None
    auto_refresh: Annotated[bool | None, boolean, WithoutEffect(_LIVE)] = None


def _directory(cursor: TokenCursor, name: str) -> DirectoryOptions:
    cursor.expect("(")
    options = read_options(cursor, DirectoryOptions, "DIRECTORY")
    cursor.expect(")")
    return options


@dataclass(frozen=True, slots=True)
class ExternalOptions(Options):
    """What may follow a URL in COPY as well as in CREATE STAGE."""

    storage_integration: Annotated[None, _integration] = None
    credentials: Annotated[None, _credentials] = None
    encryption: Annotated[str | None, _encryption, WithoutEffect("the store encrypts as it is set up to")] = None


@dataclass(frozen=True, slots=True)
class StageOptions(ExternalOptions):
    url: Annotated[str | None, text, Outside.ADDRESS] = None
    directory: Annotated[DirectoryOptions | None, _directory] = None
    file_format: Annotated[FileFormatSpec | None, file_format] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateStage(CreateStatement):
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    options: StageOptions = StageOptions()


@dataclass(frozen=True, slots=True)
class RefreshStage(Action):
    subpath: str | None = None


@dataclass(frozen=True, slots=True)
class AlterStage(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


def parse_create_stage(cursor: TokenCursor, head: CreateHead) -> CreateStage:
    name, guarded = created_name(cursor, head)
    if cursor.at("CLONE"):
        raise errors.unsupported("CREATE STAGE … CLONE")
    if cursor.at("COPY_OPTIONS", "="):
        raise errors.unsupported("COPY_OPTIONS")
    refuse_tags(cursor, "STAGE")
    options = read_options(cursor, StageOptions, head.kind, extra=("COPY_OPTIONS",))
    if cursor.at("COPY_OPTIONS", "="):
        raise errors.unsupported("COPY_OPTIONS")
    refuse_tags(cursor, "STAGE")
    return CreateStage(name, head.or_replace, guarded, head.temporary, options)


def parse_alter_stage(cursor: TokenCursor, kind: ObjectType) -> AlterStage:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterStage(name, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    verb = cursor.expect_any(("RENAME", "SET", "UNSET", "REFRESH"))
    refuse_governance(cursor, f"ALTER STAGE … {verb}")
    if verb == "RENAME":
        cursor.expect("TO")
        return RenameTo(object_name(cursor, kind))
    if verb == "REFRESH":
        return RefreshStage(cursor.string() if cursor.match("SUBPATH", "=") else None)
    if verb == "UNSET":
        return UnsetOptions(read_unset(cursor, StageOptions, kind))
    if not at_option(cursor):
        raise cursor.unexpected()
    return SetOptions(read_options(cursor, StageOptions, kind))
