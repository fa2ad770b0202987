"""CREATE, ALTER and EXPLAIN of dynamic tables. DROP, UNDROP, SHOW and DESCRIBE are those of all objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from snowmelt.core import errors
from snowmelt.core.lag import parse_lag
from snowmelt.sql.scd import Dimension
from snowmelt.sql.statements.alter_table import ClusterBy, SetRecluster
from snowmelt.sql.statements.base import Action, Annotation, CloneSource, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import (
    RenameTo,
    SetColumnComment,
    SetOptions,
    SwapWith,
    UnsetOptions,
    refuse_governance,
)
from snowmelt.sql.statements.columns import ColumnSpec, column_spec
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import clone_source, created_name, if_exists, object_name
from snowmelt.sql.statements.kinds import annotation, declared, table_clause
from snowmelt.sql.statements.options import (
    Options,
    at_option,
    merged,
    name_reference,
    one_of,
    read_options,
    read_unset,
    text,
    whole,
)
from snowmelt.sql.statements.tables import clustering_keys
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.sql.tokens import SqlText, TokenKind

LEAST_LAG = 1
"""Seconds. Snowflake stops at 60."""
_KIND = "DYNAMIC_TABLE"
"""How messages call it."""
_ELSEWHERE = {
    ("TAG", "("): "TAG", ("COPY", "TAGS"): "COPY TAGS",
    ("EXECUTE", "AS", "USER"): "EXECUTE AS USER", ("START", "AT"): "START AT", ("REFRESH", "USING"): "REFRESH USING",
    ("ROW_TIMESTAMP", "="): "ROW_TIMESTAMP", ("FROM", "BACKUP", "SET"): "FROM BACKUP SET",
}  # fmt: skip
"""Clauses that Snowflake has and Snowmelt does not."""


@dataclass(frozen=True, slots=True)
class TargetLag:
    seconds: int | None
    """None for DOWNSTREAM."""


def target_lag(cursor: TokenCursor, name: str) -> TargetLag:
    """`'<n> seconds|minutes|hours|days'` or DOWNSTREAM, which may be in quotes too."""
    if cursor.match("DOWNSTREAM"):
        return TargetLag(None)
    written = cursor.string()
    if written.strip().upper() == "DOWNSTREAM":
        return TargetLag(None)
    seconds = parse_lag(written)
    if seconds is None:
        raise errors.invalid_value(written, name)
    if seconds < LEAST_LAG:
        raise errors.lag_too_short(written, LEAST_LAG)
    return TargetLag(seconds)


@dataclass(frozen=True, slots=True)
class DynamicTableOptions(Options):
    target_lag: Annotated[TargetLag | None, target_lag] = None
    scheduler: Annotated[str | None, one_of("ENABLE", "DISABLE")] = None
    warehouse: Annotated[NameRef | None, name_reference] = None
    initialization_warehouse: Annotated[NameRef | None, name_reference] = None
    refresh_mode: Annotated[str | None, one_of("AUTO", "FULL", "INCREMENTAL", "ADAPTIVE")] = None
    initialize: Annotated[str | None, one_of("ON_CREATE", "ON_SCHEDULE")] = None
    data_retention_time_in_days: Annotated[int | None, whole] = None
    max_data_extension_time_in_days: Annotated[int | None, whole] = None
    contract: Annotated[NameRef | None, name_reference] = None
    contract_version: Annotated[int | None, whole] = None
    comment: Annotated[str | None, text] = None


_FIXED = frozenset({"REFRESH_MODE", "INITIALIZE"})
"""Options of CREATE that ALTER … SET does not take."""


@dataclass(frozen=True, slots=True)
class CreateDynamicTable(Statement):
    """The source is either `query` or `clone`."""

    name: NameRef
    or_replace: bool = False
    or_alter: bool = False
    if_not_exists: bool = False
    transient: bool = False
    columns: tuple[ColumnSpec, ...] = ()
    options: DynamicTableOptions = DynamicTableOptions()
    cluster_by: tuple[SqlText, ...] = ()
    copy_grants: bool = False
    frozen_where: SqlText | None = None
    backfill_from: NameRef | None = None
    require_user: bool = False
    query: SqlText | None = None
    clone: CloneSource | None = None
    annotations: tuple[Annotation, ...] = ()
    """What features say of it and of its columns."""
    dimension: Dimension | None = None
    """For a slowly changing dimension, whose events `query` reads: the table's own query is made from both."""
    head: str = field(default="", compare=False)
    """The text up to the options: what SHOW prints in front of them."""


@dataclass(frozen=True, slots=True)
class SetFrozen(Action):
    """SET FROZEN WHERE (…), or with None UNSET."""

    where: SqlText | None


@dataclass(frozen=True, slots=True)
class Refresh(Action):
    copy_session: bool = False


@dataclass(frozen=True, slots=True)
class AlterDynamicTable(Statement):
    names: tuple[NameRef, ...]
    """More than one only for REFRESH."""
    actions: tuple[Action, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ExplainDynamicTable(Statement):
    """EXPLAIN for an existing dynamic table, or for a query that is not one yet."""

    name: NameRef | None = None
    query: SqlText | None = None


# -- CREATE -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Clauses:
    """What stands between the columns and AS, in any order."""

    pieces: list[DynamicTableOptions] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    said: list[Annotation] = field(default_factory=list)

    def put(self, name: str, value: object) -> None:
        if name in self.found:
            raise errors.compilation("001492", "42601", f"duplicate property '{name.upper()}'")
        self.found[name] = value


def parse_create_dynamic_table(cursor: TokenCursor, head: CreateHead) -> CreateDynamicTable:
    name, guarded = created_name(cursor, head)
    clone = clone_source(cursor, head.kind)
    columns = _columns(cursor) if clone is None and cursor.at("(") else ()
    shown = cursor.since(0).text
    clauses = Clauses()
    while not cursor.at_end and not cursor.at("AS"):
        take_clause(cursor, clauses)
    options = merged(DynamicTableOptions, clauses.pieces)
    said = (*(one for column in columns for one in column.annotations), *clauses.said)
    if said and (head.or_alter or clone is not None):
        raise errors.unsupported(
            "policies and tags in CREATE OR ALTER DYNAMIC TABLE and … CLONE", hint="Put them on by ALTER DYNAMIC TABLE."
        )
    query = None
    if clone is None:
        cursor.expect("AS")
        query = cursor.rest()
    return CreateDynamicTable(
        name, head.or_replace, head.or_alter, guarded, head.transient, columns, options,
        query=query, clone=clone, head=shown, annotations=said, **clauses.found,
    )  # fmt: skip


def _columns(cursor: TokenCursor) -> tuple[ColumnSpec, ...]:
    cursor.expect("(")
    columns: list[ColumnSpec] = []
    while not columns or cursor.match(","):
        column = column_spec(cursor)
        if any(column.name == other.name for other in columns):
            raise errors.duplicate_column(column.name)
        if column.default is not None or column.identity is not None:
            raise errors.unsupported("DEFAULT and AUTOINCREMENT in a dynamic table")
        if column.constraints:
            raise errors.unsupported("constraints on a dynamic table")
        columns.append(column)
    cursor.expect(")")
    return tuple(columns)


def take_clause(cursor: TokenCursor, clauses: Clauses) -> None:
    if (said := declared(cursor)) is not None:
        clauses.said.append(said)
        return
    cursor.match("WITH")
    for words, feature in _ELSEWHERE.items():
        if cursor.at(*words):
            raise errors.unsupported(f"CREATE DYNAMIC TABLE … {feature}")
    refuse_governance(cursor, "CREATE DYNAMIC TABLE …")
    if cursor.at("REFRESH_MODE", "=", "CUSTOM_INCREMENTAL"):
        raise errors.unsupported("REFRESH_MODE = CUSTOM_INCREMENTAL")
    if cursor.match("CLUSTER", "BY"):
        clauses.put("cluster_by", clustering_keys(cursor))
    elif cursor.match("COPY", "GRANTS"):
        clauses.put("copy_grants", True)
    elif cursor.match("REQUIRE", "USER"):
        clauses.put("require_user", True)
    elif cursor.match("FROZEN", "WHERE") or cursor.match("IMMUTABLE", "WHERE"):
        clauses.put("frozen_where", cursor.inside())
    elif cursor.match("BACKFILL", "FROM"):
        clauses.put("backfill_from", cursor.name())
    elif at_option(cursor):
        clauses.pieces.append(read_options(cursor, DynamicTableOptions, _KIND))
    else:
        raise cursor.unexpected()


# -- ALTER ------------------------------------------------------------------------------------------------------------


def parse_alter_dynamic_table(cursor: TokenCursor, kind: ObjectType) -> AlterDynamicTable:
    guarded = if_exists(cursor)
    names = [object_name(cursor, kind)]
    while cursor.match(","):
        names.append(object_name(cursor, kind))
    if len(names) > 1 and not cursor.at("REFRESH"):
        raise cursor.unexpected()
    return AlterDynamicTable(tuple(names), _actions(cursor, kind), guarded)


def _actions(cursor: TokenCursor, kind: ObjectType) -> tuple[Action, ...]:
    verb = cursor.expect_any(
        ("SUSPEND", "RESUME", "REFRESH", "RENAME", "SWAP", "CLUSTER", "DROP", "ALTER", "MODIFY", "ADD", "SET", "UNSET")
    )
    clause = annotation(cursor, verb) if verb in ("SET", "UNSET") else table_clause(cursor, verb, dynamic=True)
    if clause is not None:
        return (clause,)
    refuse_governance(cursor, f"ALTER {kind} … {verb}")
    match verb:
        case "SUSPEND" | "RESUME":
            if cursor.match("RECLUSTER"):
                return (SetRecluster(verb == "RESUME"),)
            return (Suspend() if verb == "SUSPEND" else Resume(),)
        case "REFRESH":
            return (Refresh(cursor.match("COPY", "SESSION")),)
        case "RENAME":
            cursor.expect("TO")
            return (RenameTo(object_name(cursor, kind)),)
        case "SWAP":
            cursor.expect("WITH")
            return (SwapWith(object_name(cursor, kind)),)
        case "CLUSTER":
            cursor.expect("BY")
            return (ClusterBy(clustering_keys(cursor)),)
        case "DROP":
            cursor.expect("CLUSTERING", "KEY")
            return (ClusterBy(()),)
        case "ALTER" | "MODIFY":
            return _column_comments(cursor)
        case "ADD":
            raise cursor.unexpected()
    return _set(cursor) if verb == "SET" else _unset(cursor)


def _column_comments(cursor: TokenCursor) -> tuple[Action, ...]:
    bracketed = cursor.match("(")
    actions: list[Action] = []
    while not actions or cursor.match(","):
        cursor.match("COLUMN")
        column = cursor.identifier()
        removed = cursor.match("UNSET")
        if removed or cursor.match("SET"):
            if (clause := annotation(cursor, "UNSET" if removed else "SET", column)) is not None:
                actions.append(clause)
                continue
            refuse_governance(cursor, "ALTER COLUMN … SET")
        cursor.expect("COMMENT")
        actions.append(SetColumnComment(column, None if removed else cursor.string()))
    if bracketed:
        cursor.expect(")")
    return tuple(actions)


def _set(cursor: TokenCursor) -> tuple[Action, ...]:
    actions: list[Action] = []
    while not actions or not cursor.at_end:
        if cursor.match("FROZEN", "WHERE") or cursor.match("IMMUTABLE", "WHERE"):
            actions.append(SetFrozen(cursor.inside()))
            continue
        for refused in ("DEFAULT_DDL_COLLATION", "LOG_LEVEL", "CONTACT", "EXECUTE", "ROW_TIMESTAMP"):
            if cursor.at(refused):
                raise errors.unsupported(f"ALTER DYNAMIC TABLE … SET {refused}")
        if not at_option(cursor):
            raise cursor.unexpected()
        if cursor.peek().word in _FIXED:
            raise errors.invalid_property(cursor.peek().word, _KIND)
        actions.append(SetOptions(read_options(cursor, DynamicTableOptions, _KIND, extra=_FIXED)))
        cursor.match(",")
    return tuple(actions)


def _unset(cursor: TokenCursor) -> tuple[Action, ...]:
    if cursor.match("FROZEN", "WHERE") or cursor.match("IMMUTABLE", "WHERE"):
        return (SetFrozen(None),)
    token = cursor.peek()
    names = read_unset(cursor, DynamicTableOptions, _KIND)
    for name in names:
        if name in _FIXED or name in ("TARGET_LAG", "WAREHOUSE"):
            raise errors.invalid_property(name, _KIND) if name in _FIXED else cursor.unexpected(token)
    return (UnsetOptions(names),)


# -- EXPLAIN ----------------------------------------------------------------------------------------------------------


def parse_explain_dynamic_table(cursor: TokenCursor) -> ExplainDynamicTable:
    """Behind EXPLAIN DYNAMIC TABLE."""
    if cursor.match("AS"):
        return ExplainDynamicTable(query=cursor.rest())
    if not (cursor.at_kind(TokenKind.WORD) or cursor.at_kind(TokenKind.QUOTED)):
        raise cursor.unexpected()
    name = cursor.name()
    return ExplainDynamicTable(name=name, query=cursor.rest() if cursor.match("AS") else None)


CREATE_DYNAMIC_TABLE = CreateRule(parse_create_dynamic_table, frozenset({"TRANSIENT"}), or_alter=True)
