"""CREATE WAREHOUSE and ALTER WAREHOUSE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions, refuse_governance
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.options import (
    Options,
    WithoutEffect,
    at_option,
    boolean,
    merged,
    one_of,
    read_options,
    read_required_options,
    read_unset,
    text,
    whole,
    word,
)
from snowmelt.sql.tokens import TokenKind

SIZES = {
    "XSMALL": "X-Small",
    "SMALL": "Small",
    "MEDIUM": "Medium",
    "LARGE": "Large",
    "XLARGE": "X-Large",
    "XXLARGE": "2X-Large",
    "X2LARGE": "2X-Large",
    "2XLARGE": "2X-Large",
    "XXXLARGE": "3X-Large",
    "X3LARGE": "3X-Large",
    "3XLARGE": "3X-Large",
    "X4LARGE": "4X-Large",
    "4XLARGE": "4X-Large",
    "X5LARGE": "5X-Large",
    "5XLARGE": "5X-Large",
    "X6LARGE": "6X-Large",
    "6XLARGE": "6X-Large",
}
"""All spellings without hyphens, and how SHOW WAREHOUSES prints them."""


_SHOWN = "kept and shown"
_ONE_MACHINE = "Spark runs where the server runs"


def _size(cursor: TokenCursor, name: str) -> str:
    shown = cursor.peek().text
    size = SIZES.get(word(cursor, name).replace("-", ""))
    if size is None:
        raise errors.invalid_value(shown, name)
    return size


def _seconds_or_null(cursor: TokenCursor, name: str) -> int:
    """NULL means never, as 0 does."""
    return 0 if cursor.match("NULL") else whole(cursor, name)


def _positive(cursor: TokenCursor, name: str) -> int:
    value = whole(cursor, name)
    if value < 1:
        raise errors.invalid_value(str(value), name)
    return value


@dataclass(frozen=True, slots=True)
class WarehouseOptions(Options):
    warehouse_type: Annotated[
        str | None, one_of("STANDARD", "SNOWPARK-OPTIMIZED", "ADAPTIVE"), WithoutEffect(f"{_SHOWN}; {_ONE_MACHINE}")
    ] = None
    warehouse_size: Annotated[str | None, _size] = None
    generation: Annotated[str | None, one_of("1", "2"), WithoutEffect(_ONE_MACHINE)] = None
    resource_constraint: Annotated[str | None, word, WithoutEffect(_ONE_MACHINE)] = None
    max_cluster_count: Annotated[int | None, _positive, WithoutEffect(f"{_SHOWN}; no cluster is added")] = None
    min_cluster_count: Annotated[int | None, _positive] = None
    scaling_policy: Annotated[
        str | None, one_of("STANDARD", "ECONOMY"), WithoutEffect(f"{_SHOWN}; no cluster is added")
    ] = None
    auto_suspend: Annotated[int | None, _seconds_or_null] = None
    """Seconds; 0 for never."""
    auto_resume: Annotated[bool | None, boolean] = None
    initially_suspended: Annotated[bool | None, boolean] = None
    resource_monitor: Annotated[str | None, word, WithoutEffect("there are no resource monitors: nothing is paid")] = (
        None
    )
    comment: Annotated[str | None, text] = None
    enable_query_acceleration: Annotated[bool | None, boolean, WithoutEffect(f"{_SHOWN}; {_ONE_MACHINE}")] = None
    query_acceleration_max_scale_factor: Annotated[int | None, whole, WithoutEffect(f"{_SHOWN}; {_ONE_MACHINE}")] = None
    max_concurrency_level: Annotated[int | None, whole, WithoutEffect(f"{_SHOWN}; the server has one limit")] = None
    statement_queued_timeout_in_seconds: Annotated[int | None, whole] = None
    statement_timeout_in_seconds: Annotated[int | None, whole] = None
    wait_for_completion: Annotated[bool | None, boolean, WithoutEffect("a new size is there at once")] = None


@dataclass(frozen=True, slots=True)
class CreateWarehouse(Statement):
    name: NameRef
    or_replace: bool = False
    or_alter: bool = False
    if_not_exists: bool = False
    options: WarehouseOptions = WarehouseOptions()


@dataclass(frozen=True, slots=True)
class Suspend(Action):
    pass


@dataclass(frozen=True, slots=True)
class Resume(Action):
    if_suspended: bool = False


@dataclass(frozen=True, slots=True)
class AbortAllQueries(Action):
    pass


@dataclass(frozen=True, slots=True)
class AlterWarehouse(Statement):
    name: NameRef | None
    """None: the session's current warehouse."""
    action: Action
    if_exists: bool = False


def parse_create_warehouse(cursor: TokenCursor, head: CreateHead) -> CreateWarehouse:
    name, guarded = created_name(cursor, head)
    pieces: list[WarehouseOptions] = []
    while True:
        refuse_tags(cursor, "WAREHOUSE")
        if not cursor.match("WITH") and not at_option(cursor):
            break
        pieces.append(read_options(cursor, WarehouseOptions, head.kind))
    options = merged(WarehouseOptions, pieces)
    return CreateWarehouse(name, head.or_replace, head.or_alter, guarded, options)


def parse_alter_warehouse(cursor: TokenCursor, kind: ObjectType) -> AlterWarehouse:
    guarded = if_exists(cursor)
    name = None if _at_action(cursor) else object_name(cursor, kind)
    return AlterWarehouse(name, _action(cursor, kind), guarded)


def _at_action(cursor: TokenCursor) -> bool:
    """Whether the name was left out. A warehouse may be called SUSPEND: then another verb follows."""
    if not cursor.at_any(("SUSPEND", "RESUME", "ABORT", "RENAME", "SET", "UNSET")):
        return False
    return cursor.peek(1).word not in ("SUSPEND", "RESUME", "ABORT", "RENAME", "SET", "UNSET")


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    verb = cursor.expect_any(("SUSPEND", "RESUME", "ABORT", "RENAME", "SET", "UNSET"))
    refuse_governance(cursor, f"ALTER WAREHOUSE … {verb}")
    match verb:
        case "SUSPEND":
            return Suspend()
        case "RESUME":
            if cursor.match("IF"):
                cursor.expect("SUSPENDED")
                return Resume(if_suspended=True)
            return Resume()
        case "ABORT":
            cursor.expect("ALL", "QUERIES")
            return AbortAllQueries()
        case "RENAME":
            cursor.expect("TO")
            return RenameTo(object_name(cursor, kind))
        case "SET":
            return SetOptions(read_required_options(cursor, WarehouseOptions, kind))
        case _:
            if not cursor.at_kind(TokenKind.WORD):
                raise cursor.unexpected()
            return UnsetOptions(read_unset(cursor, WarehouseOptions, kind))


CREATE_WAREHOUSE = CreateRule(parse_create_warehouse, or_alter=True)
