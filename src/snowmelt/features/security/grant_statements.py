"""GRANT, REVOKE and what SHOW GRANTS asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from snowmelt.core import errors
from snowmelt.runtime.rights.privileges import IMPORTED_PRIVILEGES
from snowmelt.sql.statements.base import NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import argument_types
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import object_name
from snowmelt.sql.statements.kinds import grammar, name_parts
from snowmelt.sql.statements.unsupported import KINDS as OTHER_KINDS
from snowmelt.sql.tokens import SqlText, TokenKind


@dataclass(frozen=True, slots=True)
class Securable:
    """What a privilege is granted on."""

    scope: Literal["ACCOUNT", "OBJECT", "ALL", "FUTURE"]
    kind: ObjectType | None = None
    """None for the account."""
    name: NameRef | None = None
    """Of the object; of the database or schema for ALL and FUTURE."""
    arguments: tuple[SqlText, ...] | None = None
    container: ObjectType | None = None
    """DATABASE or SCHEMA, for ALL and FUTURE."""


@dataclass(frozen=True, slots=True)
class GrantPrivileges(Statement):
    privileges: tuple[str, ...]
    """ALL for ALL PRIVILEGES."""
    on: Securable
    grantee: NameRef
    grant_option: bool = False


@dataclass(frozen=True, slots=True)
class RevokePrivileges(Statement):
    privileges: tuple[str, ...]
    on: Securable
    grantee: NameRef
    option_only: bool = False
    """REVOKE GRANT OPTION FOR: the privilege itself stays."""
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class GrantOwnership(Statement):
    on: Securable
    grantee: NameRef
    current_grants: Literal["COPY", "REVOKE"] | None = None


@dataclass(frozen=True, slots=True)
class GrantRole(Statement):
    role: NameRef
    to: Literal["ROLE", "USER"]
    grantee: NameRef


@dataclass(frozen=True, slots=True)
class RevokeRole(Statement):
    role: NameRef
    from_: Literal["ROLE", "USER"]
    grantee: NameRef


def _refuse_other_roles(cursor: TokenCursor) -> None:
    for kind in ("DATABASE", "APPLICATION"):
        if cursor.at(kind, "ROLE") and cursor.peek(2).word not in (",", "ON"):
            raise errors.unsupported(f"GRANT or REVOKE of a {kind} ROLE", hint="Use a role of the account.")


def parse_grant(cursor: TokenCursor) -> Statement:
    _refuse_other_roles(cursor)
    if cursor.at("ROLE") and cursor.peek(1).word != ",":
        cursor.advance()
        role = cursor.name(1)
        cursor.expect("TO")
        to, grantee = _grantee(cursor)
        return GrantRole(role, to, grantee)
    privileges = _privileges(cursor)
    on = _securable(cursor, imported=privileges == (IMPORTED_PRIVILEGES,))
    cursor.expect("TO")
    grantee = _role(cursor)
    if privileges == ("OWNERSHIP",):
        return GrantOwnership(on, grantee, _current_grants(cursor))
    option = cursor.match("WITH", "GRANT", "OPTION")
    return GrantPrivileges(privileges, on, grantee, option)


def parse_revoke(cursor: TokenCursor) -> Statement:
    _refuse_other_roles(cursor)
    if cursor.at("ROLE") and cursor.peek(1).word != ",":
        cursor.advance()
        role = cursor.name(1)
        cursor.expect("FROM")
        from_, grantee = _grantee(cursor)
        return RevokeRole(role, from_, grantee)
    option_only = cursor.match("GRANT", "OPTION", "FOR")
    privileges = _privileges(cursor)
    on = _securable(cursor, imported=privileges == (IMPORTED_PRIVILEGES,))
    cursor.expect("FROM")
    grantee = _role(cursor)
    cascade = cursor.match_any(("CASCADE", "RESTRICT")) == "CASCADE"
    return RevokePrivileges(privileges, on, grantee, option_only, cascade)


def _privileges(cursor: TokenCursor) -> tuple[str, ...]:
    found: list[str] = []
    words: list[str] = []
    while True:
        if cursor.at_any((",", "ON")) and words:
            found.append(" ".join(words))
            words = []
            if cursor.advance().word == "ON":
                break
            continue
        if not cursor.at_kind(TokenKind.WORD) or len(words) > 4:
            raise cursor.unexpected()
        words.append(cursor.advance().word)
    return tuple("ALL" if item == "ALL PRIVILEGES" else item for item in found)


def _securable(cursor: TokenCursor, *, imported: bool = False) -> Securable:
    # What usage of the account may be seen hangs on a database that every account has there, and none has here.
    if cursor.match("ACCOUNT") or (imported and cursor.match("DATABASE", "SNOWFLAKE")):
        return Securable("ACCOUNT")
    scope = cursor.match_any(("ALL", "FUTURE"))
    if scope is None:
        kind = _any_kind(cursor)
        name = object_name(cursor, kind)
        return Securable("OBJECT", kind, name, argument_types(cursor, kind))
    kind = _kind(cursor, plural=True)
    cursor.expect("IN")
    container = ObjectType(cursor.expect_any(("DATABASE", "SCHEMA")))
    return Securable("ALL" if scope == "ALL" else "FUTURE", kind, object_name(cursor, container), container=container)


def _kind(cursor: TokenCursor, *, plural: bool = False) -> ObjectType:
    # The longer names first: FILE FORMAT, DYNAMIC TABLE.
    for kind in sorted(grammar().types, key=lambda kind: -len(kind)):
        words = kind.plural.split() if plural else kind.split()
        if (not plural or name_parts(kind) > 1) and cursor.match(*words):
            return kind
    for other in OTHER_KINDS:
        if cursor.at(*other.split()) or cursor.at(*f"{other}S".split()):
            raise errors.unsupported(f"GRANT … ON {other}")
    raise cursor.unexpected()


def _any_kind(cursor: TokenCursor) -> ObjectType:
    """Reads a kind as `_kind` does; without one a table or view is meant."""
    following = cursor.peek(1)
    # A quoted name is no word, and so is the end.
    ends = following.word in (".", "TO", "FROM", "") and following.kind is not TokenKind.QUOTED
    bare = cursor.at_kind(TokenKind.QUOTED) or (cursor.at_kind(TokenKind.WORD) and ends)
    return ObjectType.TABLE if bare else _kind(cursor)


def _role(cursor: TokenCursor) -> NameRef:
    for other in ("DATABASE ROLE", "SHARE", "APPLICATION ROLE", "APPLICATION", "USER"):
        words = other.split()
        if cursor.at(*words) and cursor.peek(len(words)).kind in (TokenKind.WORD, TokenKind.QUOTED):
            raise errors.unsupported(f"GRANT … TO {other}", hint="Privileges are granted to roles here.")
    cursor.match("ROLE")
    return cursor.name(1)


def _grantee(cursor: TokenCursor) -> tuple[Literal["ROLE", "USER"], NameRef]:
    word = cursor.match_any(("ROLE", "USER"))
    return ("USER" if word == "USER" else "ROLE"), cursor.name(1)


def _current_grants(cursor: TokenCursor) -> Literal["COPY", "REVOKE"] | None:
    word = cursor.match_any(("COPY", "REVOKE"))
    if word is None:
        return None
    cursor.expect("CURRENT", "GRANTS")
    return "COPY" if word == "COPY" else "REVOKE"


@dataclass(frozen=True, slots=True)
class GrantsQuestion:
    """What SHOW [FUTURE] GRANTS asks."""

    form: Literal["ON", "TO", "OF", "IN", "OWN"]
    kind: ObjectType | None = None
    """None for the account."""
    name: NameRef | None = None
    arguments: tuple[SqlText, ...] | None = None


def parse_question(sql: SqlText | None) -> GrantsQuestion:
    """`ON TABLE t`, `TO ROLE r`, `OF ROLE r`, `IN SCHEMA s`; nothing: what the user has."""
    if sql is None:
        return GrantsQuestion("OWN")
    cursor = TokenCursor(sql)
    word = cursor.expect_any(("ON", "TO", "OF", "IN"))
    form: Literal["ON", "TO", "OF", "IN"] = "ON" if word == "ON" else "TO" if word == "TO" else "OF"
    form = "IN" if word == "IN" else form
    if form == "ON" and cursor.match("ACCOUNT"):
        question = GrantsQuestion("ON")
    else:
        kind = _kind(cursor) if form != "ON" else _any_kind(cursor)
        question = GrantsQuestion(form, kind, object_name(cursor, kind), argument_types(cursor, kind))
    cursor.done()
    return question
