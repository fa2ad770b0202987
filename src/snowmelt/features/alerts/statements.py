"""CREATE ALERT, ALTER ALERT and EXECUTE ALERT. DROP, SHOW and DESCRIBE are those of all objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.features.alerts.definitions import ALERT
from snowmelt.features.tasks.statements import signed, task_body
from snowmelt.sql.statements.base import Action, CloneSource, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions, refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import clone_source, created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.options import (
    Options,
    merged,
    name_reference,
    read_options,
    read_required_options,
    read_unset,
    text,
)
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class AlertOptions(Options):
    warehouse: Annotated[NameRef | None, name_reference] = None
    schedule: Annotated[str | None, text] = None
    comment: Annotated[str | None, text] = None
    config: Annotated[str | None, text] = None
    runbook: Annotated[str | None, text] = None
    suspend_alert_after_num_failures: Annotated[int | None, signed] = None


@dataclass(frozen=True, slots=True)
class CreateAlert(CreateStatement):
    """The source is either `condition` with `action`, or `clone`."""

    or_replace: bool = False
    or_alter: bool = False
    if_not_exists: bool = False
    options: AlertOptions = AlertOptions()
    condition: SqlText | None = None
    action: SqlText | None = None
    clone: CloneSource | None = None


@dataclass(frozen=True, slots=True)
class ModifyCondition(Action):
    condition: SqlText


@dataclass(frozen=True, slots=True)
class ModifyAction(Action):
    action: SqlText


@dataclass(frozen=True, slots=True)
class AlterAlert(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ExecuteAlert(Statement):
    name: NameRef


def parse_create_alert(cursor: TokenCursor, head: CreateHead) -> CreateAlert:
    name, guarded = created_name(cursor, head)
    clone = clone_source(cursor, head.kind)
    if clone is not None:
        cursor.match("COPY", "GRANTS")
        return CreateAlert(name, head.or_replace, head.or_alter, guarded, clone=clone)
    pieces: list[AlertOptions] = []
    while not cursor.at("IF"):
        refuse_tags(cursor, head.kind)
        before = cursor.index
        pieces.append(read_options(cursor, AlertOptions, head.kind))
        cursor.match(",")
        if cursor.index == before:
            raise cursor.unexpected()
    cursor.expect("IF")
    cursor.expect("(")
    condition = _exists(cursor)
    cursor.expect(")")
    cursor.expect("THEN")
    options = merged(AlertOptions, pieces)
    return CreateAlert(name, head.or_replace, head.or_alter, guarded, options, condition, task_body(cursor))


def _exists(cursor: TokenCursor) -> SqlText:
    """The statement in EXISTS (…)."""
    cursor.expect("EXISTS")
    return cursor.inside()


def parse_alter_alert(cursor: TokenCursor, kind: ObjectType) -> AlterAlert:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterAlert(name, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    verb = cursor.expect_any(("RESUME", "SUSPEND", "MODIFY", "SET", "UNSET"))
    refuse_governance(cursor, f"ALTER ALERT … {verb}")
    match verb:
        case "RESUME":
            return Resume()
        case "SUSPEND":
            return Suspend()
        case "SET":
            return SetOptions(read_required_options(cursor, AlertOptions, kind))
        case "UNSET":
            return UnsetOptions(read_unset(cursor, AlertOptions, kind))
    if cursor.match("CONDITION"):
        return ModifyCondition(_exists(cursor))
    cursor.expect("ACTION")
    return ModifyAction(task_body(cursor))


def parse_execute_alert(cursor: TokenCursor) -> ExecuteAlert:
    """Behind EXECUTE ALERT."""
    return ExecuteAlert(object_name(cursor, ALERT))
