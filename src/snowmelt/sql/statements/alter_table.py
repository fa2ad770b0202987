"""ALTER TABLE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import (
    RenameTo,
    SetColumnComment,
    SetOptions,
    SwapWith,
    UnsetOptions,
    refuse_governance,
)
from snowmelt.sql.statements.columns import (
    ColumnSpec,
    Constraint,
    at_constraint,
    column_spec,
    table_constraint,
)
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import if_exists, if_not_exists, object_name
from snowmelt.sql.statements.kinds import annotation, grammar, table_clause
from snowmelt.sql.statements.options import read_required_options, read_unset
from snowmelt.sql.statements.tables import TableOptions, clustering_keys
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class AddColumn(Action):
    column: ColumnSpec
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn(Action):
    column: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn(Action):
    column: str
    new_name: str


@dataclass(frozen=True, slots=True)
class SetNotNull(Action):
    column: str


@dataclass(frozen=True, slots=True)
class DropNotNull(Action):
    column: str


@dataclass(frozen=True, slots=True)
class SetType(Action):
    column: str
    type: SqlText


@dataclass(frozen=True, slots=True)
class SetDefault(Action):
    column: str
    default: SqlText


@dataclass(frozen=True, slots=True)
class DropDefault(Action):
    column: str


@dataclass(frozen=True, slots=True)
class AddConstraint(Action):
    constraint: Constraint


@dataclass(frozen=True, slots=True)
class DropConstraint(Action):
    """By name, or by kind: the PRIMARY KEY, or the UNIQUE or FOREIGN KEY constraint over these columns."""

    name: str | None = None
    kind: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameConstraint(Action):
    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class ClusterBy(Action):
    keys: tuple[SqlText, ...]
    """Empty for DROP CLUSTERING KEY."""


@dataclass(frozen=True, slots=True)
class SetRecluster(Action):
    enabled: bool


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    name: NameRef
    actions: tuple[Action, ...]
    """More than one only for several columns of one ADD, DROP or ALTER: all of them are done or none."""
    if_exists: bool = False


def parse_alter_table(cursor: TokenCursor, kind: ObjectType) -> AlterTable:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterTable(name, _actions(cursor, kind), guarded)


def _actions(cursor: TokenCursor, kind: ObjectType) -> tuple[Action, ...]:
    verb = cursor.expect_any(
        ("RENAME", "SWAP", "ADD", "DROP", "ALTER", "MODIFY", "CLUSTER", "SUSPEND", "RESUME", "SET", "UNSET",
         *grammar().clause_verbs)
    )  # fmt: skip
    clause = annotation(cursor, verb) if verb in ("SET", "UNSET") else table_clause(cursor, verb)
    if clause is not None:
        return (clause,)
    refuse_governance(cursor, f"ALTER {kind} … {verb}")
    match verb:
        case "RENAME":
            return (_rename(cursor, kind),)
        case "SWAP":
            cursor.expect("WITH")
            return (SwapWith(object_name(cursor, kind)),)
        case "ADD":
            return (AddConstraint(table_constraint(cursor)),) if at_constraint(cursor) else _add(cursor)
        case "DROP":
            return _drop(cursor)
        case "ALTER" | "MODIFY":
            return _alter_columns(cursor)
        case "CLUSTER":
            cursor.expect("BY")
            return (ClusterBy(clustering_keys(cursor)),)
        case "SUSPEND" | "RESUME":
            cursor.expect("RECLUSTER")
            return (SetRecluster(verb == "RESUME"),)
        case "SET":
            return (SetOptions(read_required_options(cursor, TableOptions, kind)),)
        case "UNSET":
            return (UnsetOptions(read_unset(cursor, TableOptions, kind)),)
    raise cursor.unexpected()


def _rename(cursor: TokenCursor, kind: ObjectType) -> Action:
    if cursor.match("TO"):
        return RenameTo(object_name(cursor, kind))
    word = cursor.expect_any(("COLUMN", "CONSTRAINT"))
    old = cursor.identifier()
    cursor.expect("TO")
    new = cursor.identifier()
    return RenameColumn(old, new) if word == "COLUMN" else RenameConstraint(old, new)


def _add(cursor: TokenCursor) -> tuple[Action, ...]:
    actions: list[Action] = []
    while not actions or cursor.match(","):
        cursor.match("COLUMN")
        guarded = if_not_exists(cursor)
        column = column_spec(cursor)
        if column.type is None:
            raise cursor.unexpected()
        if column.annotations:
            raise errors.unsupported(
                "a policy in ALTER TABLE … ADD COLUMN", hint="Add the column, then set the policy."
            )
        actions.append(AddColumn(column, guarded))
    return tuple(actions)


def _drop(cursor: TokenCursor) -> tuple[Action, ...]:
    if cursor.match("CLUSTERING", "KEY"):
        return (ClusterBy(()),)
    constraint = _dropped_constraint(cursor)
    if constraint is not None:
        cursor.match_any(("CASCADE", "RESTRICT"))
        return (constraint,)
    actions: list[Action] = []
    guarded = False
    while not actions or cursor.match(","):
        cursor.match("COLUMN")
        # IF EXISTS stands once and holds for the whole list.
        guarded = if_exists(cursor) or guarded
        actions.append(DropColumn(cursor.identifier(), guarded))
    cursor.match_any(("CASCADE", "RESTRICT"))
    return tuple(actions)


def _dropped_constraint(cursor: TokenCursor) -> DropConstraint | None:
    if cursor.match("CONSTRAINT"):
        return DropConstraint(cursor.identifier())
    if cursor.match("PRIMARY", "KEY"):
        if cursor.at("("):
            cursor.identifiers()
        return DropConstraint(kind="PRIMARY KEY")
    if cursor.at("UNIQUE", "(") or cursor.at("FOREIGN", "KEY"):
        kind = "UNIQUE" if cursor.match("UNIQUE") else "FOREIGN KEY"
        cursor.match("FOREIGN", "KEY")
        return DropConstraint(kind=kind, columns=cursor.identifiers())
    return None


def _alter_columns(cursor: TokenCursor) -> tuple[Action, ...]:
    if cursor.at("CONSTRAINT") or cursor.at("PRIMARY", "KEY"):
        raise errors.unsupported("ALTER TABLE … ALTER CONSTRAINT")
    bracketed = cursor.match("(")
    actions: list[Action] = []
    while not actions or cursor.match(","):
        cursor.match("COLUMN")
        actions.append(_alter_column(cursor, cursor.identifier()))
    if bracketed:
        cursor.expect(")")
    return tuple(actions)


def _alter_column(cursor: TokenCursor, column: str) -> Action:
    if cursor.match("NOT", "NULL") or cursor.match("SET", "NOT", "NULL"):
        return SetNotNull(column)
    if cursor.match("DROP"):
        if cursor.match("DEFAULT"):
            return DropDefault(column)
        cursor.expect("NOT", "NULL")
        return DropNotNull(column)
    if cursor.match("COMMENT"):
        return SetColumnComment(column, cursor.string())
    if cursor.match("UNSET"):
        if (clause := annotation(cursor, "UNSET", column)) is not None:
            return clause
        refuse_governance(cursor, "ALTER COLUMN … UNSET")
        cursor.expect("COMMENT")
        return SetColumnComment(column, None)
    if cursor.match("SET"):
        if (clause := annotation(cursor, "SET", column)) is not None:
            return clause
        refuse_governance(cursor, "ALTER COLUMN … SET")
        if cursor.match("DEFAULT"):
            return SetDefault(column, cursor.until(","))
        if cursor.match("COMMENT"):
            cursor.match("=")
            return SetColumnComment(column, cursor.string())
        cursor.expect("DATA", "TYPE")
    else:
        cursor.match("TYPE")
    type_text = cursor.type_text()
    if cursor.match("COLLATE") and (collation := cursor.string()):
        type_text = replace(type_text, text=f"{type_text.text} COLLATE '{collation}'")
    return SetType(column, type_text)
