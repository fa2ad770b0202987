"""USE, SET, UNSET, ALTER SESSION / ACCOUNT, and transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from snowmelt.core import errors
from snowmelt.sql.statements.base import NameRef, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText, TokenKind

ParameterValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Use(Statement):
    kind: Literal["DATABASE", "SCHEMA", "WAREHOUSE", "ROLE", "SECONDARY ROLES"] | None
    """None for a bare `USE name`: a database, or a schema if the name has two parts."""
    name: NameRef
    """For secondary roles, each part is the name of a role, or the whole is ALL or NONE."""


@dataclass(frozen=True, slots=True)
class SetVariables(Statement):
    assignments: tuple[tuple[str, SqlText], ...]


@dataclass(frozen=True, slots=True)
class UnsetVariables(Statement):
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlterParameters(Statement):
    """ALTER SESSION or ALTER ACCOUNT, SET or UNSET."""

    level: Literal["SESSION", "ACCOUNT"]
    settings: tuple[tuple[str, ParameterValue], ...] = ()
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Begin(Statement):
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Commit(Statement):
    pass


@dataclass(frozen=True, slots=True)
class Rollback(Statement):
    pass


def parse_use(cursor: TokenCursor) -> Use:
    if cursor.match("SECONDARY"):
        cursor.expect("ROLES")
        if cursor.at("ALL"):
            line, position = cursor.source.position(cursor.advance().start)
            return Use("SECONDARY ROLES", NameRef(("ALL",), line, position))
        line, position = cursor.source.position(cursor.peek().start)
        names = [cursor.identifier()]
        while cursor.match(","):
            names.append(cursor.identifier())
        return Use("SECONDARY ROLES", NameRef(tuple(names), line, position))
    # `USE database.s` names a database that is called DATABASE.
    if cursor.peek(1).word != ".":
        if cursor.match("DATABASE"):
            return Use("DATABASE", cursor.name(1))
        if cursor.match("SCHEMA"):
            return Use("SCHEMA", cursor.name(2))
        if cursor.match("WAREHOUSE"):
            return Use("WAREHOUSE", cursor.name(1))
        if cursor.match("ROLE"):
            return Use("ROLE", cursor.name(1))
    return Use(None, cursor.name(2))


def parse_set(cursor: TokenCursor) -> SetVariables:
    if not cursor.at("("):
        name = cursor.identifier()
        cursor.expect("=")
        return SetVariables(((name, cursor.rest()),))
    opening = cursor.peek()
    names = cursor.identifiers()
    cursor.expect("=")
    if cursor.at("(") and cursor.peek(1).word in ("SELECT", "WITH"):
        raise errors.unsupported("SET of several variables from a query")
    values = cursor.expression_list()
    if len(names) != len(values):
        raise cursor.unexpected(opening)
    return SetVariables(tuple(zip(names, values, strict=True)))


def parse_unset(cursor: TokenCursor) -> UnsetVariables:
    if cursor.at("("):
        return UnsetVariables(cursor.identifiers())
    names = [cursor.identifier()]
    while cursor.match(","):
        names.append(cursor.identifier())
    return UnsetVariables(tuple(names))


def parse_alter_session(cursor: TokenCursor) -> AlterParameters:
    return _alter_parameters(cursor, "SESSION")


def parse_alter_account(cursor: TokenCursor) -> AlterParameters:
    return _alter_parameters(cursor, "ACCOUNT")


def _alter_parameters(cursor: TokenCursor, level: Literal["SESSION", "ACCOUNT"]) -> AlterParameters:
    if cursor.match("UNSET"):
        names = [cursor.identifier()]
        while not cursor.at_end:
            cursor.match(",")
            names.append(cursor.identifier())
        return AlterParameters(level, unset=tuple(names))
    cursor.expect("SET")
    settings: list[tuple[str, ParameterValue]] = []
    while not settings or not cursor.at_end:
        if settings:
            cursor.match(",")
        name = cursor.identifier()
        cursor.expect("=")
        settings.append((name, parameter_value(cursor)))
    return AlterParameters(level, settings=tuple(settings))


def parameter_value(cursor: TokenCursor) -> ParameterValue:
    """A literal or a bare word, as parameters take them: TRUE and FALSE are booleans, numbers are numbers."""
    token = cursor.peek()
    if token.kind is TokenKind.STRING:
        return cursor.string()
    if token.kind is TokenKind.WORD:
        cursor.advance()
        return {"TRUE": True, "FALSE": False}.get(token.word, token.text)
    if cursor.peek(1 if token.word in ("-", "+") else 0).text.isdigit():
        return cursor.whole()
    sign = -1 if cursor.match("-") else 1
    token = cursor.peek()
    if token.kind is not TokenKind.NUMBER:
        raise cursor.unexpected()
    cursor.advance()
    return sign * float(token.text)


def parse_begin(cursor: TokenCursor) -> Begin:
    """After BEGIN; the caller has made sure that this is no block."""
    cursor.match_any(("TRANSACTION", "WORK"))
    return _named(cursor)


def parse_start(cursor: TokenCursor) -> Begin:
    cursor.expect("TRANSACTION")
    return _named(cursor)


def _named(cursor: TokenCursor) -> Begin:
    return Begin(cursor.identifier() if cursor.match("NAME") else None)


def parse_commit(cursor: TokenCursor) -> Commit:
    cursor.match("WORK")
    return Commit()


def parse_rollback(cursor: TokenCursor) -> Rollback:
    cursor.match("WORK")
    return Rollback()
