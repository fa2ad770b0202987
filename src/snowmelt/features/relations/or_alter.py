"""CREATE OR ALTER TABLE of a table that exists: from the definition there is to the one that the statement says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.relations.alter_tables import alter_columns
from snowmelt.runtime import retention, tables
from snowmelt.runtime.metadata.ddl import SYSTEM_NAME
from snowmelt.sql.statements.alter_table import (
    AddColumn,
    AddConstraint,
    ClusterBy,
    DropColumn,
    DropConstraint,
    DropDefault,
    DropNotNull,
    SetDefault,
    SetNotNull,
    SetType,
)
from snowmelt.sql.statements.base import Action, NameRef
from snowmelt.sql.statements.changes import SetColumnComment
from snowmelt.sql.statements.columns import (
    CheckSpec,
    ColumnSpec,
    Constraint,
    ForeignKeySpec,
    IdentitySpec,
    PrimaryKey,
    UniqueKey,
)
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, CheckConstraint, Column, ForeignKey, Key, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_AnyConstraint = tuple[str, Key | ForeignKey | CheckConstraint]
"""PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK, and the constraint."""


def or_alter_table(run: Run, table: CatalogObject, statement: CreateTable) -> None:
    """Everything in one commit. What the statement does not mention is as if it had never been set."""
    before = table.definition
    assert isinstance(before, TableDefinition)
    wanted = tables.definition_of(run, table.name, statement)
    contract = run.account.contracts.wanted(run, statement.options, table, wanted.columns)
    if wanted.transient != before.transient:
        raise errors.unsupported("CREATE OR ALTER TABLE between TRANSIENT and permanent")
    actions = differences(before, wanted)
    if actions:
        alter_columns(run, table, actions)
    else:
        run.open_for_write(table)
    options = statement.options

    def record(state: StateTransaction) -> None:
        current = state.catalog.by_id(table.id)
        if current is None or not isinstance(current.definition, TableDefinition):
            raise errors.not_found("Table", str(table.name))
        changed: dict[str, bool] = {"schema_evolution": wanted.schema_evolution}
        # Dynamic tables switch change tracking on where they read: only an explicit word switches it off.
        if options.change_tracking is not None:
            changed["change_tracking"] = options.change_tracking
        definition = current.definition.model_copy(update=changed)
        current = current.model_copy(
            update={"definition": definition, "comment": options.comment, "altered_on": state.now}
        )
        state.catalog.update(retention.set_table(state, current, options.data_retention_time_in_days))
        if contract is not None:
            state.contracts.put(contract)

    run.transaction.at_commit.append(record)


def differences(before: TableDefinition, wanted: TableDefinition) -> list[Action]:
    """What ALTER TABLE would have to do, in an order in which each step is possible."""
    gone, new = _constraints_apart(before, wanted)
    names = {column.name for column in wanted.columns}
    present = {column.name: column for column in before.columns}
    dropped = [column.name for column in before.columns if column.name not in names]
    actions: list[Action] = [_drop(kind, item) for kind, item in gone if not _goes_with(item, dropped)]
    if tuple(before.cluster_by) != tuple(wanted.cluster_by):
        actions.append(ClusterBy(()))
    actions += [DropColumn(name) for name in dropped]
    _check_order(before.columns, wanted.columns)
    for column in wanted.columns:
        if column.name in present:
            actions += _column_actions(present[column.name], column)
        else:
            actions.append(AddColumn(_spec(column)))
    if tuple(before.cluster_by) != tuple(wanted.cluster_by) and wanted.cluster_by:
        actions.append(ClusterBy(tuple(SqlText(key) for key in wanted.cluster_by)))
    return actions + [AddConstraint(_as_spec(kind, item)) for kind, item in new]


def _check_order(before: Sequence[Column], wanted: Sequence[Column]) -> None:
    """Columns keep their order, and new ones come last, as with ALTER TABLE … ADD COLUMN."""
    names = {column.name for column in wanted}
    stay = [column.name for column in before if column.name in names]
    if [column.name for column in wanted][: len(stay)] != stay:
        raise errors.unsupported(
            "another order of columns in CREATE OR ALTER TABLE",
            hint="Keep the columns that are there in their order, and add new ones behind them.",
        )


def _column_actions(old: Column, new: Column) -> list[Action]:
    if old.identity != new.identity:
        raise errors.unsupported(f"another AUTOINCREMENT of column '{new.name}' in CREATE OR ALTER TABLE")
    if old.type.collation != new.type.collation:
        raise errors.unsupported(f"another collation of column '{new.name}' in CREATE OR ALTER TABLE")
    actions: list[Action] = []
    # INT and NUMBER(38,0) are one type to everybody but the writer of files.
    if str(old.type) != str(new.type):
        actions.append(SetType(new.name, SqlText(str(new.type))))
    if old.nullable != new.nullable:
        actions.append(DropNotNull(new.name) if new.nullable else SetNotNull(new.name))
    if old.default != new.default:
        actions.append(DropDefault(new.name) if new.default is None else SetDefault(new.name, SqlText(new.default)))
    if old.comment != new.comment:
        actions.append(SetColumnComment(new.name, new.comment))
    return actions


def _spec(column: Column) -> ColumnSpec:
    identity = column.identity
    return ColumnSpec(
        column.name,
        SqlText(str(column.type)),
        nullable=column.nullable,
        default=SqlText(column.default) if column.default is not None else None,
        identity=IdentitySpec(identity.start, identity.step, identity.ordered) if identity is not None else None,
        comment=column.comment,
    )


# -- constraints ------------------------------------------------------------------------------------------------------


def _constraints_apart(
    before: TableDefinition, wanted: TableDefinition
) -> tuple[list[_AnyConstraint], list[_AnyConstraint]]:
    """The constraints that only the one has, and those that only the other has."""
    old = {_meaning(kind, item): (kind, item) for kind, item in _all(before)}
    new = {_meaning(kind, item): (kind, item) for kind, item in _all(wanted)}
    return (
        [item for meaning, item in old.items() if meaning not in new],
        [item for meaning, item in new.items() if meaning not in old],
    )


def _all(definition: TableDefinition) -> Iterable[_AnyConstraint]:
    if definition.primary_key is not None:
        yield "PRIMARY KEY", definition.primary_key
    yield from (("UNIQUE", key) for key in definition.unique_keys)
    yield from (("FOREIGN KEY", key) for key in definition.foreign_keys)
    yield from (("CHECK", check) for check in definition.checks)


def _meaning(kind: str, item: Key | ForeignKey | CheckConstraint) -> tuple[str, str]:
    """Equal for constraints that say the same; a name that the system gave says nothing."""
    named = None if item.name.startswith(SYSTEM_NAME) else item.name
    return kind, item.model_copy(update={"name": named or ""}).model_dump_json()


def _goes_with(item: Key | ForeignKey | CheckConstraint, dropped: Sequence[str]) -> bool:
    """Whether the constraint goes when these columns do."""
    return not isinstance(item, CheckConstraint) and any(column in dropped for column in item.columns)


def _drop(kind: str, item: Key | ForeignKey | CheckConstraint) -> DropConstraint:
    return DropConstraint(kind="PRIMARY KEY") if kind == "PRIMARY KEY" else DropConstraint(item.name)


def _as_spec(kind: str, item: Key | ForeignKey | CheckConstraint) -> Constraint:
    name = None if item.name.startswith(SYSTEM_NAME) else item.name
    match item:
        case CheckConstraint(expression=expression):
            return CheckSpec(name, rely=False, expression=SqlText(expression))
        case ForeignKey(references=target):
            parts = NameRef((target.database, target.schema, target.name))
            return ForeignKeySpec(name, False, item.columns, parts, item.referenced_columns)
        case Key(columns=columns):
            return PrimaryKey(name, False, columns) if kind == "PRIMARY KEY" else UniqueKey(name, False, columns)
