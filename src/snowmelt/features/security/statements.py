"""CREATE and ALTER of users and roles, and the tokens of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions, refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.options import (
    Options,
    boolean,
    one_of,
    read_options,
    read_required_options,
    read_unset,
    strings,
    text,
    whole,
)
from snowmelt.sql.tokens import TokenKind


def _name(cursor: TokenCursor, option: str) -> str:
    """A name, bare or as a string, folded as a name is; dotted for a namespace."""
    if not cursor.at_kind(TokenKind.STRING):
        return ".".join(cursor.name(2).parts)
    shown = cursor.string()
    parts = split_name(shown)
    if parts is None or len(parts) > 2:
        raise errors.invalid_value(shown, option)
    return ".".join(parts)


def _login(cursor: TokenCursor, _: str) -> str:
    """Login names are the same in any case."""
    return (cursor.string() if cursor.at_kind(TokenKind.STRING) else cursor.identifier()).upper()


@dataclass(frozen=True, slots=True)
class UserOptions(Options):
    password: Annotated[str | None, text] = None
    login_name: Annotated[str | None, _login] = None
    display_name: Annotated[str | None, text] = None
    first_name: Annotated[str | None, text] = None
    last_name: Annotated[str | None, text] = None
    email: Annotated[str | None, text] = None
    must_change_password: Annotated[bool | None, boolean] = None
    disabled: Annotated[bool | None, boolean] = None
    mins_to_unlock: Annotated[int | None, whole] = None
    default_warehouse: Annotated[str | None, _name] = None
    default_namespace: Annotated[str | None, _name] = None
    default_role: Annotated[str | None, _name] = None
    network_policy: Annotated[str | None, _name] = None
    default_secondary_roles: Annotated[tuple[str, ...] | None, strings] = None
    rsa_public_key: Annotated[str | None, text] = None
    rsa_public_key_2: Annotated[str | None, text] = None
    type: Annotated[str | None, one_of("PERSON", "SERVICE", "LEGACY_SERVICE")] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class RoleOptions(Options):
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class TokenOptions(Options):
    role_restriction: Annotated[str | None, _name] = None
    days_to_expiry: Annotated[int | None, whole] = None
    disabled: Annotated[bool | None, boolean] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateUser(Statement):
    name: NameRef
    or_replace: bool = False
    if_not_exists: bool = False
    options: UserOptions = UserOptions()


@dataclass(frozen=True, slots=True)
class CreateRole(Statement):
    name: NameRef
    or_replace: bool = False
    if_not_exists: bool = False
    options: RoleOptions = RoleOptions()


@dataclass(frozen=True, slots=True)
class ChangeToken(Action):
    """ADD, MODIFY, ROTATE or REMOVE PROGRAMMATIC ACCESS TOKEN."""

    verb: Literal["ADD", "MODIFY", "ROTATE", "REMOVE"]
    token: str
    options: TokenOptions = TokenOptions()
    new_name: str | None = None


@dataclass(frozen=True, slots=True)
class AbortQueries(Action):
    """ABORT ALL QUERIES of a user."""


@dataclass(frozen=True, slots=True)
class AlterUser(Statement):
    name: NameRef | None
    """None: the user of the session."""
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterRole(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


def parse_create_user(cursor: TokenCursor, head: CreateHead) -> CreateUser:
    name, guarded = created_name(cursor, head)
    options = read_options(cursor, UserOptions, head.kind)
    refuse_tags(cursor, "USER")
    return CreateUser(name, head.or_replace, guarded, options)


def parse_create_role(cursor: TokenCursor, head: CreateHead) -> CreateRole:
    name, guarded = created_name(cursor, head)
    options = read_options(cursor, RoleOptions, head.kind)
    refuse_tags(cursor, "ROLE")
    return CreateRole(name, head.or_replace, guarded, options)


def parse_alter_user(cursor: TokenCursor, kind: ObjectType) -> AlterUser:
    guarded = if_exists(cursor)
    own = cursor.at_any(_USER_VERBS) and cursor.peek(1).word not in _USER_VERBS
    name = None if own else object_name(cursor, kind)
    return AlterUser(name, _user_action(cursor, kind), guarded)


_USER_VERBS = frozenset({"SET", "UNSET", "RENAME", "ADD", "MODIFY", "ROTATE", "REMOVE", "ABORT", "RESET"})


def _user_action(cursor: TokenCursor, kind: ObjectType) -> Action:
    verb = cursor.expect_any(_USER_VERBS)
    refuse_governance(cursor, f"ALTER USER … {verb}")
    match verb:
        case "SET":
            return SetOptions(read_required_options(cursor, UserOptions, kind))
        case "UNSET":
            return UnsetOptions(read_unset(cursor, UserOptions, kind))
        case "RENAME":
            cursor.expect("TO")
            return RenameTo(object_name(cursor, kind))
        case "ABORT":
            cursor.expect("ALL", "QUERIES")
            return AbortQueries()
        case "ADD" | "MODIFY" | "ROTATE" | "REMOVE":
            if not cursor.match("PAT") and not cursor.match("PROGRAMMATIC", "ACCESS", "TOKEN"):
                raise errors.unsupported(f"ALTER USER … {verb} {cursor.peek().word}")
            return _token(cursor, verb)
        case _:
            raise errors.unsupported(f"ALTER USER … {verb}")


def _token(cursor: TokenCursor, verb: str) -> ChangeToken:
    name = cursor.identifier()
    match verb:
        case "ADD":
            return ChangeToken("ADD", name, read_options(cursor, TokenOptions, "PROGRAMMATIC ACCESS TOKEN"))
        case "ROTATE":
            return ChangeToken("ROTATE", name)
        case "REMOVE":
            return ChangeToken("REMOVE", name)
    if cursor.match("RENAME", "TO"):
        return ChangeToken("MODIFY", name, new_name=cursor.identifier())
    cursor.expect("SET")
    return ChangeToken("MODIFY", name, read_required_options(cursor, TokenOptions, "PROGRAMMATIC ACCESS TOKEN"))


def parse_alter_role(cursor: TokenCursor, kind: ObjectType) -> AlterRole:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    verb = cursor.expect_any(("SET", "UNSET", "RENAME"))
    refuse_governance(cursor, f"ALTER ROLE … {verb}")
    if verb == "RENAME":
        cursor.expect("TO")
        return AlterRole(name, RenameTo(object_name(cursor, kind)), guarded)
    if verb == "SET":
        return AlterRole(name, SetOptions(read_required_options(cursor, RoleOptions, kind)), guarded)
    return AlterRole(name, UnsetOptions(read_unset(cursor, RoleOptions, kind)), guarded)


CREATE_USER = CreateRule(parse_create_user)
CREATE_ROLE = CreateRule(parse_create_role)
