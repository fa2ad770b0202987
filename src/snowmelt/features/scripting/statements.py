"""CREATE and ALTER of functions and procedures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.calls import literal_text
from snowmelt.sql.statements.changes import (
    RenameTo,
    SetOptions,
    SetSecure,
    UnsetOptions,
    argument_types,
    refuse_governance,
)
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import (
    Options,
    WithoutEffect,
    at_option,
    duplicate,
    read_options,
    read_required_options,
    read_unset,
    strings,
    text,
)
from snowmelt.sql.tokens import SqlText, TokenKind, block_end, starts_block

_NOT_HERE = (
    "TARGET_PATH", "EXTERNAL_ACCESS_INTEGRATIONS", "SECRETS", "ARTIFACT_REPOSITORY", "RESOURCE_CONSTRAINT",
    "LOG_LEVEL", "TRACE_LEVEL",
)  # fmt: skip


_OWN_PYTHON = "kept and shown; the server's own Python runs the code"


def _version(cursor: TokenCursor, name: str) -> str:
    """`'3.12'`, or bare as 3.12."""
    return cursor.advance().text if cursor.at_kind(TokenKind.NUMBER) else cursor.string()


@dataclass(frozen=True, slots=True)
class RoutineOptions(Options):
    runtime_version: Annotated[str | None, _version, WithoutEffect(_OWN_PYTHON)] = None
    packages: Annotated[tuple[str, ...] | None, strings] = None
    imports: Annotated[tuple[str, ...] | None, strings] = None
    handler: Annotated[str | None, text] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class RoutineArgument:
    name: str
    type: SqlText
    default: SqlText | None = None


@dataclass(frozen=True, slots=True)
class CreateRoutine(Statement):
    kind: Literal["FUNCTION", "PROCEDURE"]
    name: NameRef
    arguments: tuple[RoutineArgument, ...]
    returns: SqlText | None
    """None for RETURNS TABLE, whose columns are `returns_table`."""
    returns_table: tuple[RoutineArgument, ...] | None = None
    returns_not_null: bool = False
    body: SqlText | None = None
    """Without its quotes or dollars. None where a Python handler comes from IMPORTS."""
    language: Literal["SQL", "PYTHON"] = "SQL"
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    secure: bool = False
    aggregate: bool = False
    volatility: Literal["VOLATILE", "IMMUTABLE", "MEMOIZABLE"] | None = None
    strict: bool = False
    """RETURNS NULL ON NULL INPUT: a NULL argument gives NULL without a call."""
    execute_as: Literal["OWNER", "CALLER"] = "OWNER"
    copy_grants: bool = False
    options: RoutineOptions = field(default_factory=RoutineOptions)


@dataclass(frozen=True, slots=True)
class CreateFunction(CreateRoutine):
    """CREATE FUNCTION."""


@dataclass(frozen=True, slots=True)
class CreateProcedure(CreateRoutine):
    """CREATE PROCEDURE."""


@dataclass(frozen=True, slots=True)
class SetExecuteAs(Action):
    caller: bool


@dataclass(frozen=True, slots=True)
class AlterRoutine(Statement):
    kind: ObjectType
    name: NameRef
    arguments: tuple[SqlText, ...]
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterFunction(AlterRoutine):
    """ALTER FUNCTION."""


@dataclass(frozen=True, slots=True)
class AlterProcedure(AlterRoutine):
    """ALTER PROCEDURE."""


def parse_create_routine(cursor: TokenCursor, head: CreateHead) -> CreateRoutine:
    name, guarded = created_name(cursor, head)
    cursor.expect("(")
    arguments = _arguments(cursor)
    copy_grants = cursor.match("COPY", "GRANTS")
    cursor.expect("RETURNS")
    returns: SqlText | None = None
    returns_table: tuple[RoutineArgument, ...] | None = None
    if cursor.match("TABLE"):
        cursor.expect("(")
        returns_table = _arguments(cursor)
    else:
        returns = cursor.type_text()
    not_null = cursor.match("NOT", "NULL")
    clauses = _clauses(cursor, head.kind)
    body = _body(cursor) if cursor.match("AS") else None
    if body is None and (clauses.language == "SQL" or clauses.options.imports is None):
        raise cursor.unexpected()
    is_function = head.kind is ObjectType.FUNCTION
    make = CreateFunction if is_function else CreateProcedure
    return make(
        "FUNCTION" if is_function else "PROCEDURE",
        name,
        arguments,
        returns,
        returns_table,
        not_null,
        body,
        clauses.language,
        head.or_replace,
        guarded,
        head.temporary,
        head.secure,
        "AGGREGATE" in head.modifiers,
        clauses.volatility,
        clauses.strict,
        clauses.execute_as,
        copy_grants or clauses.copy_grants,
        clauses.options,
    )


def _arguments(cursor: TokenCursor) -> tuple[RoutineArgument, ...]:
    """`name type [DEFAULT e], … )`; the opening parenthesis is already read."""
    found: list[RoutineArgument] = []
    while not cursor.match(")"):
        if found:
            cursor.expect(",")
        if cursor.at_any(("OUT", "OUTPUT")) and cursor.peek(2).kind is TokenKind.WORD:
            raise errors.unsupported("OUT argument")
        if cursor.at_any(("IN", "INPUT")) and cursor.peek(2).kind is TokenKind.WORD:
            cursor.advance()
        name = cursor.identifier()
        type_text = cursor.type_text()
        cursor.match("NOT", "NULL")
        default = cursor.until(",") if cursor.match("DEFAULT") else None
        found.append(RoutineArgument(name, type_text, default))
    return tuple(found)


@dataclass(slots=True)
class _Clauses:
    """What stands between RETURNS and AS, in any order, while it is being read."""

    language: Literal["SQL", "PYTHON"] = "SQL"
    volatility: Literal["VOLATILE", "IMMUTABLE", "MEMOIZABLE"] | None = None
    strict: bool = False
    execute_as: Literal["OWNER", "CALLER"] = "OWNER"
    copy_grants: bool = False
    options: RoutineOptions = field(default_factory=RoutineOptions)


def _clauses(cursor: TokenCursor, kind: ObjectType) -> _Clauses:
    clauses = _Clauses()
    while not cursor.at_end and not cursor.at("AS"):
        if cursor.match("LANGUAGE"):
            word = cursor.identifier()
            if word not in ("SQL", "PYTHON"):
                raise errors.unsupported(f"LANGUAGE {word}")
            clauses.language = "SQL" if word == "SQL" else "PYTHON"
        elif cursor.match("VOLATILE"):
            clauses.volatility = "VOLATILE"
        elif cursor.match("IMMUTABLE"):
            clauses.volatility = "IMMUTABLE"
        elif cursor.match("MEMOIZABLE"):
            clauses.volatility = "MEMOIZABLE"
        elif cursor.match("STRICT") or cursor.match("RETURNS", "NULL", "ON", "NULL", "INPUT"):
            clauses.strict = True
        elif cursor.match("CALLED", "ON", "NULL", "INPUT"):
            clauses.strict = False
        elif cursor.match("COPY", "GRANTS"):
            clauses.copy_grants = True
        elif cursor.at("EXECUTE", "AS") and kind is ObjectType.PROCEDURE:
            clauses.execute_as = _execute_as(cursor)
        elif cursor.at_any(_NOT_HERE):
            raise errors.unsupported(f"CREATE {kind} … {cursor.peek().word}")
        elif at_option(cursor):
            given = read_options(cursor, RoutineOptions, kind, extra=_NOT_HERE)
            before = clauses.options.given()
            for name in given.given():
                if name in before:
                    raise duplicate(name)
            both = before | given.given()
            clauses.options = RoutineOptions(**{name.lower(): value for name, value in both.items()})
        else:
            raise cursor.unexpected()
    return clauses


def _execute_as(cursor: TokenCursor) -> Literal["OWNER", "CALLER"]:
    cursor.expect("EXECUTE", "AS")
    cursor.match("RESTRICTED")
    return "CALLER" if cursor.expect_any(("CALLER", "OWNER")) == "CALLER" else "OWNER"


def _body(cursor: TokenCursor) -> SqlText:
    if cursor.at_kind(TokenKind.STRING):
        return literal_text(cursor)
    if starts_block(cursor.tokens, cursor.index):
        start = cursor.index
        cursor.index = block_end(cursor.tokens, start)
        return cursor.since(start)
    return cursor.rest()


def parse_alter_routine(cursor: TokenCursor, kind: ObjectType) -> AlterRoutine:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    arguments = argument_types(cursor, kind) or ()
    make = AlterFunction if kind is ObjectType.FUNCTION else AlterProcedure
    return make(kind, name, arguments, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    if cursor.match("RENAME", "TO"):
        return RenameTo(object_name(cursor, kind))
    if cursor.at("EXECUTE") and kind is ObjectType.PROCEDURE:
        return SetExecuteAs(_execute_as(cursor) == "CALLER")
    verb = cursor.expect_any(("SET", "UNSET"))
    refuse_governance(cursor, f"ALTER {kind} … {verb}")
    if cursor.match("SECURE"):
        return SetSecure(verb == "SET")
    if cursor.at_any(_NOT_HERE):
        raise errors.unsupported(f"ALTER {kind} … {verb} {cursor.peek().word}")
    if verb == "SET":
        return SetOptions(read_required_options(cursor, RoutineOptions, kind))
    return UnsetOptions(read_unset(cursor, RoutineOptions, kind))


CREATE_FUNCTION = CreateRule(parse_create_routine, frozenset({"TEMP", "TEMPORARY", "VOLATILE", "SECURE", "AGGREGATE"}))
CREATE_PROCEDURE = CreateRule(parse_create_routine, frozenset({"TEMP", "TEMPORARY", "VOLATILE", "SECURE"}))
