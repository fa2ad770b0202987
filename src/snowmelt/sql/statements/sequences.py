"""CREATE SEQUENCE and ALTER SEQUENCE."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, UnsetOptions
from snowmelt.sql.statements.columns import start_and_increment
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name


@dataclass(frozen=True, slots=True)
class CreateSequence(Statement):
    name: NameRef
    or_replace: bool = False
    if_not_exists: bool = False
    start: int = 1
    step: int = 1
    ordered: bool | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SetSequence(Action):
    """None: left as it is."""

    step: int | None = None
    ordered: bool | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class AlterSequence(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


def parse_create_sequence(cursor: TokenCursor, head: CreateHead) -> CreateSequence:
    name, guarded = created_name(cursor, head)
    cursor.match("WITH")
    start, step = start_and_increment(cursor)
    if step == 0:
        raise errors.invalid_value("0", "INCREMENT")
    word = cursor.match_any(("ORDER", "NOORDER"))
    comment = _comment(cursor)
    ordered = None if word is None else word == "ORDER"
    return CreateSequence(name, head.or_replace, guarded, start, step, ordered, comment)


def _comment(cursor: TokenCursor) -> str | None:
    return cursor.string() if cursor.match("COMMENT", "=") else None


def parse_alter_sequence(cursor: TokenCursor, kind: ObjectType) -> AlterSequence:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterSequence(name, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    if cursor.match("RENAME", "TO"):
        return RenameTo(object_name(cursor, kind))
    if cursor.match("UNSET"):
        cursor.expect("COMMENT")
        return UnsetOptions(("COMMENT",))
    cursor.match("SET")
    step: int | None = None
    ordered: bool | None = None
    comment: str | None = None
    begin = cursor.index
    while not cursor.at_end:
        if cursor.match("INCREMENT"):
            cursor.match("BY")
            cursor.match("=")
            step = cursor.whole()
            if step == 0:
                raise errors.invalid_value("0", "INCREMENT")
        elif cursor.at_any(("ORDER", "NOORDER")):
            ordered = cursor.advance().word == "ORDER"
        elif cursor.at("COMMENT", "="):
            comment = _comment(cursor)
        elif cursor.index == begin or not cursor.match(","):
            raise cursor.unexpected()
    if cursor.index == begin:
        raise cursor.unexpected()
    return SetSequence(step, ordered, comment)


CREATE_SEQUENCE = CreateRule(parse_create_sequence)
