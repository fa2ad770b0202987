"""The parts that CREATE, ALTER and DROP statements of all kinds begin with."""

from __future__ import annotations

from snowmelt.core import errors
from snowmelt.sql.statements.base import (
    CloneSource,
    NameRef,
    ObjectType,
    TimePoint,
)
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.kinds import name_parts


def if_not_exists(cursor: TokenCursor) -> bool:
    if not cursor.match("IF"):
        return False
    cursor.expect("NOT", "EXISTS")
    return True


def if_exists(cursor: TokenCursor) -> bool:
    if not cursor.match("IF"):
        return False
    cursor.expect("EXISTS")
    return True


def object_name(cursor: TokenCursor, kind: ObjectType) -> NameRef:
    return cursor.name(name_parts(kind))


def created_name(cursor: TokenCursor, head: CreateHead) -> tuple[NameRef, bool]:
    """`[IF NOT EXISTS] name`, in either order as Snowflake takes it; the flag says if it was there."""
    guarded = if_not_exists(cursor)
    name = object_name(cursor, head.kind)
    # Behind the name of an alert comes IF ( EXISTS (…) ).
    guarded = guarded or (not cursor.at("IF", "(") and if_not_exists(cursor))
    if guarded and head.or_replace:
        raise errors.compilation("002019", "0A000", "options IF NOT EXISTS and OR REPLACE are incompatible.")
    return name, guarded


def time_point(cursor: TokenCursor) -> TimePoint | None:
    """`AT (…)` or `BEFORE (…)`."""
    word = cursor.match_any(("AT", "BEFORE"))
    if word is None:
        return None
    cursor.expect("(")
    kind = cursor.expect_any(("TIMESTAMP", "OFFSET", "STATEMENT", "STREAM"))
    cursor.expect("=>")
    value = cursor.until()
    cursor.expect(")")
    return TimePoint(
        "AT" if word == "AT" else "BEFORE",
        next(known for known in ("TIMESTAMP", "OFFSET", "STATEMENT", "STREAM") if known == kind),
        value,
    )


def clone_source(cursor: TokenCursor, kind: ObjectType) -> CloneSource | None:
    if not cursor.match("CLONE"):
        return None
    name = object_name(cursor, kind)
    return CloneSource(name, time_point(cursor))


def refuse_tags(cursor: TokenCursor, kind: str) -> None:
    if cursor.at("TAG", "(") or cursor.at("WITH", "TAG"):
        raise errors.unsupported(f"CREATE {kind} … TAG")
