"""CREATE PIPE, ALTER PIPE and its REFRESH. DROP, SHOW and DESCRIBE are those of all objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.features.loading.copy_statements import CopyIntoTable, parse_copy
from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions, refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.options import (
    Options,
    boolean,
    read_options,
    read_required_options,
    read_unset,
    text,
)
from snowmelt.sql.tokens import SqlText

_NOT_HERE = ("ERROR_INTEGRATION", "AWS_SNS_TOPIC", "INTEGRATION")
_REFUSED = ("FILES", "SIZE_LIMIT", "PURGE", "FORCE", "VALIDATION_MODE", "RETURN_FAILED_ONLY")
"""Options of COPY that a pipe may not have, in Snowflake either."""


@dataclass(frozen=True, slots=True)
class PipeOptions(Options):
    auto_ingest: Annotated[bool | None, boolean] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class PipeChanges(Options):
    pipe_execution_paused: Annotated[bool | None, boolean] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class RefreshOptions(Options):
    prefix: Annotated[str | None, text] = None
    modified_after: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreatePipe(CreateStatement):
    copy: CopyIntoTable
    text: SqlText
    """The COPY as written."""
    options: PipeOptions = PipeOptions()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterPipe(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RefreshPipe(Statement):
    """ALTER PIPE … REFRESH: loads what is there and was not loaded."""

    name: NameRef
    options: RefreshOptions = RefreshOptions()
    if_exists: bool = False


def parse_create_pipe(cursor: TokenCursor, head: CreateHead) -> CreatePipe:
    name, guarded = created_name(cursor, head)
    refuse_tags(cursor, head.kind)
    options = read_options(cursor, PipeOptions, head.kind, extra=_NOT_HERE)
    if cursor.at_any(_NOT_HERE):
        raise errors.unsupported(
            f"CREATE PIPE … {cursor.peek().word}", hint="With AUTO_INGEST = TRUE the server looks for new files itself."
        )
    cursor.expect("AS")
    copy, written = parse_copy_text(cursor)
    return CreatePipe(name, copy, written, options, head.or_replace, guarded)


def parse_copy_text(cursor: TokenCursor) -> tuple[CopyIntoTable, SqlText]:
    start = cursor.index
    cursor.expect("COPY")
    copy = parse_copy(cursor)
    if not isinstance(copy, CopyIntoTable):
        raise errors.unsupported("a pipe that unloads", hint="A pipe is a COPY INTO a table.")
    for name in copy.options.given():
        if name in _REFUSED:
            raise errors.unsupported(f"{name} in the COPY of a pipe")
    if copy.options.on_error is not None and copy.options.on_error.action == "ABORT_STATEMENT":
        raise errors.unsupported("ON_ERROR = ABORT_STATEMENT in the COPY of a pipe", hint="Use SKIP_FILE or CONTINUE.")
    return copy, cursor.since(start)


def parse_alter_pipe(cursor: TokenCursor, kind: ObjectType) -> AlterPipe | RefreshPipe:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    verb = cursor.expect_any(("REFRESH", "SET", "UNSET"))
    if verb == "REFRESH":
        return RefreshPipe(name, read_options(cursor, RefreshOptions, kind), guarded)
    refuse_governance(cursor, f"ALTER PIPE … {verb}")
    if cursor.at_any(_NOT_HERE):
        raise errors.unsupported(f"ALTER PIPE … {verb} {cursor.peek().word}")
    if verb == "SET":
        return AlterPipe(name, SetOptions(read_required_options(cursor, PipeChanges, kind)), guarded)
    return AlterPipe(name, UnsetOptions(read_unset(cursor, PipeChanges, kind)), guarded)
