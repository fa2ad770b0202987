"""CREATE TASK, ALTER TASK and EXECUTE TASK. DROP, SHOW and DESCRIBE are those of all objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from snowmelt.core import errors
from snowmelt.features.tasks.definitions import TASK
from snowmelt.sql.statements.base import Action, CloneSource, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import clone_source, created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.options import (
    Options,
    WithoutEffect,
    at_option,
    boolean,
    duplicate,
    name_reference,
    readers,
    text,
    word,
)
from snowmelt.sql.statements.session import ParameterValue, parameter_value
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.sql.tokens import SqlText, TokenKind, block_end, starts_block

_KIND = "TASK"
_REFUSED = (
    "ERROR_INTEGRATION", "SUCCESS_INTEGRATION", "LOG_LEVEL", "TRACE_LEVEL", "SCHEDULING_MODE", "EXECUTE_AS_USER",
)  # fmt: skip
"""Options that Snowflake has and Snowmelt does not."""
_NOT_SIZED = "kept and shown; serverless tasks run on the server's own machine, whatever its size"


def signed(cursor: TokenCursor, name: str) -> int:
    """A whole number. The caller checks its range."""
    token = cursor.peek()
    if token.kind is TokenKind.STRING:
        if not token.text.lstrip("+-").isdigit():
            raise errors.invalid_value(token.text, name)
        return int(cursor.advance().text)
    return cursor.whole()


@dataclass(frozen=True, slots=True)
class TaskOptions(Options):
    warehouse: Annotated[NameRef | None, name_reference] = None
    user_task_managed_initial_warehouse_size: Annotated[str | None, word, WithoutEffect(_NOT_SIZED)] = None
    schedule: Annotated[str | None, text] = None
    config: Annotated[str | None, text] = None
    overlap_policy: Annotated[str | None, word] = None
    allow_overlapping_execution: Annotated[bool | None, boolean] = None
    user_task_timeout_ms: Annotated[int | None, signed] = None
    suspend_task_after_num_failures: Annotated[int | None, signed] = None
    task_auto_retry_attempts: Annotated[int | None, signed] = None
    user_task_minimum_trigger_interval_in_seconds: Annotated[int | None, signed] = None
    target_completion_interval: Annotated[str | None, text, WithoutEffect(_NOT_SIZED)] = None
    serverless_task_min_statement_size: Annotated[str | None, word, WithoutEffect(_NOT_SIZED)] = None
    serverless_task_max_statement_size: Annotated[str | None, word, WithoutEffect(_NOT_SIZED)] = None
    comment: Annotated[str | None, text] = None
    finalize: Annotated[NameRef | None, name_reference] = None


@dataclass(frozen=True, slots=True)
class CreateTask(CreateStatement):
    """The source is either `body` or `clone`."""

    or_replace: bool = False
    or_alter: bool = False
    if_not_exists: bool = False
    options: TaskOptions = TaskOptions()
    parameters: tuple[tuple[str, ParameterValue], ...] = ()
    """Options that are no task's own: session parameters, if anything."""
    after: tuple[NameRef, ...] = ()
    when: SqlText | None = None
    body: SqlText | None = None
    clone: CloneSource | None = None


@dataclass(frozen=True, slots=True)
class SetTask(Action):
    options: TaskOptions
    parameters: tuple[tuple[str, ParameterValue], ...] = ()


@dataclass(frozen=True, slots=True)
class UnsetTask(Action):
    names: tuple[str, ...]
    """Upper-cased; session parameters among them."""


@dataclass(frozen=True, slots=True)
class ChangeAfter(Action):
    names: tuple[NameRef, ...]
    removed: bool = False


@dataclass(frozen=True, slots=True)
class ModifyAs(Action):
    body: SqlText


@dataclass(frozen=True, slots=True)
class ModifyWhen(Action):
    condition: SqlText | None
    """None removes it."""


@dataclass(frozen=True, slots=True)
class AlterTask(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ExecuteTask(Statement):
    name: NameRef
    config: str | None = None
    retry_last: bool = False
    retry_group: str | None = None
    """RETRY GRAPH RUN GROUP '<id>'."""


# -- CREATE -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Clauses:
    """What stands between the name and AS, in any order."""

    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    after: tuple[NameRef, ...] = ()
    when: SqlText | None = None


def parse_create_task(cursor: TokenCursor, head: CreateHead) -> CreateTask:
    name, guarded = created_name(cursor, head)
    clone = clone_source(cursor, head.kind)
    if clone is not None:
        cursor.match("COPY", "GRANTS")
        return CreateTask(name, head.or_replace, head.or_alter, guarded, clone=clone)
    clauses = _Clauses()
    while not cursor.at("AS"):
        _clause(cursor, clauses)
    cursor.expect("AS")
    return CreateTask(
        name,
        head.or_replace,
        head.or_alter,
        guarded,
        TaskOptions(**clauses.options),
        tuple(clauses.parameters.items()),
        clauses.after,
        clauses.when,
        task_body(cursor),
    )


def _clause(cursor: TokenCursor, clauses: _Clauses) -> None:
    refuse_tags(cursor, _KIND)
    if cursor.at("WITH", "CONTACT"):
        raise errors.unsupported("CREATE TASK … CONTACT")
    if cursor.at("EXECUTE", "AS"):
        raise errors.unsupported("CREATE TASK … EXECUTE AS USER")
    if cursor.match("COPY", "GRANTS") or cursor.match(","):
        return
    if cursor.match("AFTER"):
        if clauses.after:
            raise duplicate("AFTER")
        clauses.after = _names(cursor)
    elif cursor.match("WHEN"):
        if clauses.when is not None:
            raise duplicate("WHEN")
        clauses.when = cursor.until("AS")
    elif at_option(cursor):
        _option(cursor, clauses)
    else:
        raise cursor.unexpected()


def _option(cursor: TokenCursor, clauses: _Clauses) -> None:
    name = cursor.peek().word
    if name in _REFUSED:
        raise errors.unsupported(f"TASK … {name}")
    if name.lower() in clauses.options or name in clauses.parameters:
        raise duplicate(name)
    cursor.index += 2
    reader = readers(TaskOptions).get(name)
    if reader is None:
        clauses.parameters[name] = parameter_value(cursor)
    else:
        clauses.options[name.lower()] = reader(cursor, name)


def _names(cursor: TokenCursor) -> tuple[NameRef, ...]:
    names = [object_name(cursor, TASK)]
    while cursor.match(","):
        names.append(object_name(cursor, TASK))
    return tuple(names)


def task_body(cursor: TokenCursor) -> SqlText:
    """One statement, or a block with semicolons of its own."""
    if not starts_block(cursor.tokens, cursor.index):
        return cursor.rest()
    start = cursor.index
    cursor.index = block_end(cursor.tokens, start)
    return cursor.since(start)


# -- ALTER ------------------------------------------------------------------------------------------------------------


def parse_alter_task(cursor: TokenCursor, kind: ObjectType) -> AlterTask:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterTask(name, _action(cursor), guarded)


def _action(cursor: TokenCursor) -> Action:
    verb = cursor.expect_any(("RESUME", "SUSPEND", "ADD", "REMOVE", "MODIFY", "SET", "UNSET"))
    refuse_governance(cursor, f"ALTER TASK … {verb}")
    match verb:
        case "RESUME":
            return Resume()
        case "SUSPEND":
            return Suspend()
        case "ADD":
            cursor.expect("AFTER")
            return ChangeAfter(_names(cursor))
        case "REMOVE":
            if cursor.match("WHEN"):
                return ModifyWhen(None)
            cursor.expect("AFTER")
            return ChangeAfter(_names(cursor), removed=True)
        case "MODIFY":
            if cursor.match("WHEN"):
                return ModifyWhen(cursor.rest())
            cursor.expect("AS")
            return ModifyAs(task_body(cursor))
        case "SET":
            return _set(cursor)
    return _unset(cursor)


def _set(cursor: TokenCursor) -> SetTask:
    if not at_option(cursor):
        raise cursor.unexpected()
    clauses = _Clauses()
    while not cursor.at_end:
        if not at_option(cursor):
            raise cursor.unexpected()
        _option(cursor, clauses)
        cursor.match(",")
    return SetTask(TaskOptions(**clauses.options), tuple(clauses.parameters.items()))


def _unset(cursor: TokenCursor) -> UnsetTask:
    names: list[str] = []
    while not names or not cursor.at_end:
        if not cursor.at_kind(TokenKind.WORD):
            raise cursor.unexpected()
        names.append(cursor.advance().word)
        if names[-1] in _REFUSED:
            raise errors.unsupported(f"TASK … {names[-1]}")
        cursor.match(",")
    return UnsetTask(tuple(names))


# -- EXECUTE ----------------------------------------------------------------------------------------------------------


def parse_execute_task(cursor: TokenCursor) -> ExecuteTask:
    """Behind EXECUTE TASK."""
    name = object_name(cursor, TASK)
    if cursor.match("RETRY"):
        if cursor.match("GRAPH", "RUN", "GROUP"):
            return ExecuteTask(name, retry_group=cursor.string())
        cursor.expect("LAST")
        return ExecuteTask(name, retry_last=True)
    if cursor.match("USING"):
        cursor.expect("CONFIG")
        cursor.match("=")
        return ExecuteTask(name, config=cursor.string())
    return ExecuteTask(name)
