"""CREATE STREAM and ALTER STREAM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, CloneSource, CreateStatement, NameRef, ObjectType, Statement, TimePoint
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions, refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import clone_source, created_name, if_exists, object_name, refuse_tags, time_point
from snowmelt.sql.statements.options import (
    Options,
    at_option,
    boolean,
    merged,
    read_options,
    read_required_options,
    read_unset,
    text,
)

SourceWord = Literal["TABLE", "VIEW", "DYNAMIC TABLE", "EXTERNAL TABLE"]
_SOURCES: tuple[SourceWord, ...] = ("TABLE", "VIEW", "DYNAMIC TABLE", "EXTERNAL TABLE")
_OTHER_SOURCES = ("STAGE", "EVENT TABLE", "DIRECTORY TABLE")


@dataclass(frozen=True, slots=True)
class StreamOptions(Options):
    append_only: Annotated[bool | None, boolean] = None
    insert_only: Annotated[bool | None, boolean] = None
    show_initial_rows: Annotated[bool | None, boolean] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class StreamComment(Options):
    """All that can be altered."""

    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateStream(CreateStatement):
    source: NameRef | None = None
    """None for a clone."""
    source_word: SourceWord = "TABLE"
    point: TimePoint | None = None
    options: StreamOptions = StreamOptions()
    or_replace: bool = False
    if_not_exists: bool = False
    or_alter: bool = False
    copy_grants: bool = False
    clone: CloneSource | None = None


@dataclass(frozen=True, slots=True)
class AlterStream(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


def parse_create_stream(cursor: TokenCursor, head: CreateHead) -> CreateStream:
    name, guarded = created_name(cursor, head)
    refuse_tags(cursor, "STREAM")
    copy_grants = cursor.match("COPY", "GRANTS")
    clone = clone_source(cursor, head.kind)
    if clone is not None:
        copy_grants = cursor.match("COPY", "GRANTS") or copy_grants
        return CreateStream(
            name, clone=clone, or_replace=head.or_replace, if_not_exists=guarded, or_alter=head.or_alter,
            copy_grants=copy_grants,
        )  # fmt: skip
    if copy_grants and not head.or_replace:
        # As Snowflake has it: there is nothing whose grants could be copied.
        raise errors.compilation("002211", "42601", "COPY GRANTS needs OR REPLACE or CLONE.")
    word = _source_word(cursor)
    source = cursor.name()
    point: TimePoint | None = None
    pieces: list[StreamOptions] = []
    while not cursor.at_end:
        if point is None and cursor.at_any(("AT", "BEFORE")):
            point = time_point(cursor)
        elif at_option(cursor):
            pieces.append(read_options(cursor, StreamOptions, head.kind))
        else:
            raise cursor.unexpected()
    return CreateStream(
        name, source, word, point, merged(StreamOptions, pieces), head.or_replace, guarded, head.or_alter, copy_grants
    )


def _source_word(cursor: TokenCursor) -> SourceWord:
    cursor.expect("ON")
    for word in _SOURCES:
        if cursor.match(*word.split()):
            return word
    for other in _OTHER_SOURCES:
        if cursor.at(*other.split()):
            raise errors.unsupported(f"CREATE STREAM … ON {other}")
    raise cursor.unexpected()


def parse_alter_stream(cursor: TokenCursor, kind: ObjectType) -> AlterStream:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    verb = cursor.expect_any(("SET", "UNSET"))
    refuse_governance(cursor, f"ALTER {kind} … {verb}")
    action: Action
    if verb == "SET":
        action = SetOptions(read_required_options(cursor, StreamComment, kind))
    else:
        action = UnsetOptions(read_unset(cursor, StreamComment, kind))
    return AlterStream(name, action, guarded)
