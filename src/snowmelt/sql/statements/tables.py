"""CREATE TABLE and TRUNCATE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.sql.statements.base import Annotation, CloneSource, NameRef, Statement
from snowmelt.sql.statements.changes import refuse_governance
from snowmelt.sql.statements.columns import (
    ColumnSpec,
    Constraint,
    at_constraint,
    column_spec,
    table_constraint,
)
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import clone_source, created_name, if_exists, refuse_tags
from snowmelt.sql.statements.kinds import declared
from snowmelt.sql.statements.options import (
    NO_COLLATION,
    Options,
    boolean,
    merged,
    name_reference,
    no_collation,
    read_options,
    text,
    whole,
)
from snowmelt.sql.tokens import SqlText, Token


@dataclass(frozen=True, slots=True)
class TableOptions(Options):
    data_retention_time_in_days: Annotated[int | None, whole] = None
    max_data_extension_time_in_days: Annotated[int | None, whole] = None
    change_tracking: Annotated[bool | None, boolean] = None
    enable_schema_evolution: Annotated[bool | None, boolean] = None
    default_ddl_collation: Annotated[str | None, no_collation, NO_COLLATION] = None
    contract: Annotated[NameRef | None, name_reference] = None
    contract_version: Annotated[int | None, whole] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """The source is exactly one of `columns` alone, `query` (with columns or without), `like` and `clone`."""

    name: NameRef
    or_replace: bool = False
    if_not_exists: bool = False
    transient: bool = False
    temporary: bool = False
    columns: tuple[ColumnSpec, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    cluster_by: tuple[SqlText, ...] = ()
    options: TableOptions = TableOptions()
    copy_grants: bool = False
    query: SqlText | None = None
    like: NameRef | None = None
    clone: CloneSource | None = None
    or_alter: bool = False
    annotations: tuple[Annotation, ...] = ()
    """What features say of it and of its columns."""


@dataclass(frozen=True, slots=True)
class Truncate(Statement):
    name: NameRef
    if_exists: bool = False


def parse_create_table(cursor: TokenCursor, head: CreateHead) -> CreateTable:
    name, guarded = created_name(cursor, head)
    columns: list[ColumnSpec] = []
    constraints: list[Constraint] = []
    like: NameRef | None = None
    clone: CloneSource | None = None
    # GET_DDL prints the clustering key in front of the columns.
    early = clustering_keys(cursor) if cursor.match("CLUSTER", "BY") else ()
    opening = cursor.peek()
    untyped: Token | None = None
    if cursor.match("("):
        untyped = _table_elements(cursor, columns, constraints)
    elif cursor.match("LIKE"):
        like = cursor.name()
    elif cursor.at("USING", "TEMPLATE"):
        raise errors.unsupported("CREATE TABLE … USING TEMPLATE")
    else:
        clone = clone_source(cursor, head.kind)
    said = [one for column in columns for one in column.annotations]
    cluster_by, options, copy_grants = _table_tail(cursor, said)
    cluster_by = cluster_by or early
    query = cursor.rest() if cursor.match("AS") else None
    if (like is not None or clone is not None) and query is not None:
        raise cursor.unexpected()
    if said and (head.or_alter or like is not None or clone is not None):
        raise errors.unsupported(
            "policies and tags in CREATE OR ALTER TABLE, … LIKE and … CLONE", hint="Put them on by ALTER TABLE."
        )
    if head.or_alter:
        _refuse_or_alter(head, guarded=guarded, filled=any(item is not None for item in (query, like, clone)))
    if query is None:
        if untyped is not None:
            raise cursor.unexpected(untyped)
        if like is None and clone is None and not columns:
            raise cursor.unexpected(opening if constraints else None)
    return CreateTable(
        name, head.or_replace, guarded, head.transient, head.temporary, tuple(columns), tuple(constraints),
        cluster_by, options, copy_grants, query, like, clone, head.or_alter, tuple(said),
    )  # fmt: skip


def _refuse_or_alter(head: CreateHead, *, guarded: bool, filled: bool) -> None:
    """A table is altered to columns that the statement lists, and to nothing else."""
    if guarded:
        raise errors.compilation("002019", "0A000", "options IF NOT EXISTS and OR ALTER are incompatible.")
    if head.temporary:
        raise errors.unsupported("CREATE OR ALTER TEMPORARY TABLE")
    if filled:
        raise errors.unsupported("CREATE OR ALTER TABLE … AS, LIKE or CLONE")


def _table_elements(cursor: TokenCursor, columns: list[ColumnSpec], constraints: list[Constraint]) -> Token | None:
    """Fills the lists. The result is the token that stands where the first missing type should."""
    untyped: Token | None = None
    while True:
        if at_constraint(cursor):
            constraints.append(table_constraint(cursor))
        else:
            following = cursor.peek(1)
            columns.append(column_spec(cursor))
            if columns[-1].type is None and untyped is None:
                untyped = following
        if not cursor.match(","):
            break
    cursor.expect(")")
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise errors.duplicate_column(column.name)
        seen.add(column.name)
    return untyped


def _table_tail(cursor: TokenCursor, said: list[Annotation]) -> tuple[tuple[SqlText, ...], TableOptions, bool]:
    """What follows the columns, in any order."""
    cluster_by: tuple[SqlText, ...] = ()
    copy_grants = False
    start = cursor.index
    pieces: list[TableOptions] = []
    while True:
        if cursor.match("CLUSTER", "BY"):
            cluster_by = clustering_keys(cursor)
        elif cursor.match("COPY", "GRANTS"):
            copy_grants = True
        elif cursor.at("COPY", "TAGS"):
            raise errors.unsupported("COPY TAGS")
        elif cursor.at("STAGE_FILE_FORMAT", "=") or cursor.at("STAGE_COPY_OPTIONS", "="):
            raise errors.unsupported(cursor.peek().word)
        elif (one := declared(cursor)) is not None:
            said.append(one)
        elif cursor.at("WITH") or cursor.at("AGGREGATION") or cursor.at("JOIN"):
            refuse_tags(cursor, "TABLE")
            cursor.match("WITH")
            refuse_governance(cursor, "CREATE TABLE …")
            raise cursor.unexpected()
        else:
            refuse_tags(cursor, "TABLE")
            pieces.append(read_options(cursor, TableOptions, "TABLE"))
        if cursor.index == start:
            break
        start = cursor.index
    options = merged(TableOptions, pieces)
    return cluster_by, options, copy_grants


def clustering_keys(cursor: TokenCursor) -> tuple[SqlText, ...]:
    """`(a, TO_DATE(b))`, also as `LINEAR(…)`, which is how SHOW prints it."""
    cursor.match("LINEAR")
    keys = cursor.expression_list()
    if not keys:
        raise cursor.unexpected()
    return keys


def parse_truncate(cursor: TokenCursor) -> Truncate:
    cursor.match("TABLE")
    guarded = if_exists(cursor)
    return Truncate(cursor.name(), guarded)


CREATE_TABLE = CreateRule(
    parse_create_table,
    frozenset({"LOCAL", "GLOBAL", "TRANSIENT", "TEMP", "TEMPORARY", "VOLATILE"}),
    or_alter=True,
)
