"""ALTER DYNAMIC TABLE, and CREATE OR ALTER of one that exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.types import DataType
from snowmelt.service import retention
from snowmelt.service.dynamic_tables import declarations, filling, graph, incremental, scheduling
from snowmelt.service.dynamic_tables.creating import visible_versions
from snowmelt.service.dynamic_tables.definitions import BoundDefinition, bind
from snowmelt.service.handlers.alter_tables import alter_columns, rename, swap
from snowmelt.sql.statements.alter_table import AddColumn, ClusterBy, SetRecluster, SetType
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.changes import Action, RenameTo, SetColumnComment, SetOptions, SwapWith, UnsetOptions
from snowmelt.sql.statements.columns import ColumnSpec
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable, DynamicTableOptions, SetFrozen
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.sql.tokens import SqlText
from snowmelt.state.dynamic_model import DynamicDefinition
from snowmelt.state.model import RELATIONS, CatalogObject, Column, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def find(run: Run, name: NameRef) -> CatalogObject | None:
    """The dynamic table that a statement names; a table or view of that name is an error."""
    full = run.object_name(name, "ALTER DYNAMIC TABLE")
    with run.account.state.read() as state:
        found = state.catalog.find(full, RELATIONS, run.session.id)
    if found is not None and dynamic_part(found) is None:
        raise errors.wrong_kind(found.kind, "DYNAMIC_TABLE")
    return found


def require(run: Run, name: NameRef) -> CatalogObject:
    found = find(run, name)
    if found is None:
        raise errors.not_found("Dynamic table", str(run.object_name(name)))
    return found


def dynamic_part(item: CatalogObject) -> DynamicDefinition | None:
    return item.definition.dynamic if isinstance(item.definition, TableDefinition) else None


def alter(run: Run, table: CatalogObject, actions: Sequence[Action]) -> None:
    match actions[0]:
        case Suspend():
            with run.account.state.begin() as state:
                scheduling.suspend(state, table)
        case Resume():
            with run.account.state.begin() as state:
                scheduling.resume(state, table)
        case RenameTo(new_name=new_name):
            rename(run, table, new_name)
            _note(run, table, "NONE")
        case SwapWith(other=other):
            swapped = require(run, other)
            swap(run, table, swapped)
            _note(run, table, "NONE")
            _note(run, swapped, "NONE")
        case ClusterBy(keys=keys):
            assert isinstance(table.definition, TableDefinition)
            if not keys and not table.definition.cluster_by:
                raise errors.compilation("002222", "42601", f"Table '{quote(table.name.name)}' is not clustered")
            alter_columns(run, table, actions)
        case SetColumnComment() | SetRecluster():
            alter_columns(run, table, actions)
        case SetOptions() | UnsetOptions() | SetFrozen():
            _set(run, table, actions)
        case other:
            raise errors.unsupported(f"ALTER DYNAMIC TABLE … {type(other).__name__}")


def _note(run: Run, table: CatalogObject, trigger: str) -> None:
    with run.account.state.begin() as state:
        scheduling.note_definition(state, table.id, (trigger,))


# -- SET and UNSET ----------------------------------------------------------------------------------------------------


def _set(run: Run, table: CatalogObject, actions: Sequence[Action]) -> None:
    """All in one step. A changed lag or warehouse begins a new row of graph history."""
    changes: dict[str, Any] = {}
    values: dict[str, Any] = {}
    triggers: list[str] = []
    reinit: str | None = None
    days: int | None = None
    reset_days = False
    before = dynamic_part(table)
    assert before is not None and isinstance(table.definition, TableDefinition)
    for action in actions:
        match action:
            case SetOptions(options=options):
                assert isinstance(options, DynamicTableOptions)
                changes |= _changed(run, options, triggers)
                if options.comment is not None:
                    values["comment"] = options.comment
                days = options.data_retention_time_in_days if options.data_retention_time_in_days is not None else days
                retention.check(days, transient=table.definition.transient)
            case UnsetOptions(names=names):
                if "COMMENT" in names:
                    values["comment"] = None
                reset_days = retention.KEY in names
                if "INITIALIZATION_WAREHOUSE" in names:
                    changes["initialization_warehouse"] = None
                if "SCHEDULER" in names:
                    changes["scheduler"] = None
            case SetFrozen(where=where):
                changes["frozen_where"] = where.text if where is not None else None
                if before.frozen_where is not None and before.frozen_where != changes["frozen_where"]:
                    reinit = "The frozen region was changed."
    declared = before.model_copy(update=changes)
    _check(run, table, declared)
    with run.account.state.begin() as state:
        current = state.catalog.by_id(table.id)
        if current is None or not isinstance(current.definition, TableDefinition):
            raise errors.not_found("Dynamic table", str(table.name))
        part = dynamic_part(current)
        assert part is not None
        definition = current.definition.model_copy(update={"dynamic": part.model_copy(update=changes)})
        current = current.model_copy(update={**values, "definition": definition, "altered_on": state.now})
        if days is not None or reset_days:
            current = retention.set_table(state, current, days)
        state.catalog.update(current)
        if reinit is not None:
            state.dynamic.change(table.id, reinit_reason=reinit)
        if triggers:
            scheduling.note_definition(state, table.id, tuple(triggers))


def _changed(run: Run, options: DynamicTableOptions, triggers: list[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if options.target_lag is not None:
        if options.scheduler == "DISABLE":
            raise errors.compilation("001008", "22023", "TARGET_LAG can't be combined with SCHEDULER = DISABLE.")
        # A lag is what a scheduler keeps: setting one switches it on again.
        changes |= {"target_lag": options.target_lag.seconds, "scheduler": "ENABLE" if options.scheduler else None}
        triggers.append("ALTER_TARGET_LAG")
    elif options.scheduler is not None:
        changes["scheduler"] = options.scheduler
        if options.scheduler == "DISABLE":
            changes["target_lag"] = None
        triggers.append("ALTER_TARGET_LAG")
    if options.warehouse is not None:
        changes["warehouse"] = declarations.warehouse(run, options.warehouse)
        triggers.append("ALTER_WAREHOUSE")
    if options.initialization_warehouse is not None:
        changes["initialization_warehouse"] = declarations.warehouse(run, options.initialization_warehouse)
    return changes


def _check(run: Run, table: CatalogObject, declared: DynamicDefinition) -> None:
    """The lag must fit to those of the tables above and below; the frozen region must be a condition."""
    before = dynamic_part(table)
    assert before is not None and isinstance(table.definition, TableDefinition)
    with run.account.state.read() as state:
        if declared.target_lag != before.target_lag:
            nodes = graph.load(state).nodes
            changed = table.model_copy(update={"definition": table.definition.model_copy(update={"dynamic": declared})})
            upstream = [nodes[id].table for id in nodes[table.id].upstream]
            declarations.check_lag(table.name, declared.target_lag, upstream)
            for node in nodes.values():
                if table.id in node.upstream:
                    declarations.check_lag(node.table.name, node.definition.target_lag, [changed])
        if declared.frozen_where is not None and declared.frozen_where != before.frozen_where:
            bound = _bound(run, table.name, declared)
            definition = table.definition.model_copy(update={"dynamic": declared})
            filling.frozen_condition(bound.environment, definition, stored_form=False)


def _bound(run: Run, name: ObjectName, declared: DynamicDefinition) -> BoundDefinition:
    with run.account.state.read() as state:
        return bind(run, state, name, declared, run.now, visible_versions(run))


# -- CREATE OR ALTER --------------------------------------------------------------------------------------------------

_DECLARED = (
    "query", "database", "schema_", "target_lag", "scheduler", "warehouse", "initialization_warehouse", "refresh_mode",
    "frozen_where", "explicit_columns", "require_user",
)  # fmt: skip


def or_alter(run: Run, table: CatalogObject, statement: CreateDynamicTable) -> str | None:
    """Makes the table what the statement says and keeps its rows; why they are computed anew at the next refresh.

    Raises `CannotKeepError` when they can't be kept.
    """
    before = dynamic_part(table)
    assert before is not None and isinstance(table.definition, TableDefinition)
    declared = declarations.declared(run, table.name, statement)
    bound = _bound(run, table.name, declared)
    wanted = declarations.definition_of(run, statement, declared, bound)
    if wanted.transient != table.definition.transient:
        raise CannotKeepError("it is transient or not for good")
    actions = _reshaping(table.definition.columns, wanted.columns)
    mode, mode_reason = incremental.resolve_mode(declared.refresh_mode, bound)
    declarations.check_sources(bound, mode)
    _check(run, table, declared)
    reason = _reason(before, declared)
    if wanted.cluster_by != table.definition.cluster_by:
        actions.append(ClusterBy(tuple(statement.cluster_by)))
    if actions:
        alter_columns(run, table, actions)
    else:
        run.open_for_write(table)
    changes = {name: getattr(declared, name) for name in _DECLARED}
    resolved = {"refresh_mode": mode, "refresh_mode_reason": mode_reason}

    def record(state: StateTransaction) -> None:
        current = state.catalog.by_id(table.id)
        assert current is not None and isinstance(current.definition, TableDefinition)
        definition = current.definition.model_copy(update={"dynamic": before.model_copy(update=changes)})
        values = {"definition": definition, "altered_on": state.now, "comment": statement.options.comment}
        current = current.model_copy(update=values)
        days = statement.options.data_retention_time_in_days
        state.catalog.update(retention.set_table(state, current, days))
        for source in declarations.track_changes(state, bound):
            state.catalog.update(source)
        dynamic = state.dynamic.require(table.id)
        kept: dict[str, Any] = {"reinit_reason": reason or dynamic.reinit_reason, **resolved}
        if declared.query != before.query:
            kept["dependencies"] = bound.dependencies
        scheduling.begin_entry(state, current, dynamic.model_copy(update=kept), ("CREATE_DYNAMIC_TABLE",))

    run.transaction.at_commit.append(record)
    return reason


class CannotKeepError(Exception):
    """The rows of the table can't be kept under its new definition."""


def _reason(before: DynamicDefinition, after: DynamicDefinition) -> str | None:
    if before.query != after.query or (before.database, before.schema_) != (after.database, after.schema_):
        return "The query was changed."
    if before.refresh_mode is not after.refresh_mode:
        return "The refresh mode was changed."
    if before.frozen_where is not None and before.frozen_where != after.frozen_where:
        return "The frozen region was changed."
    return None


def _reshaping(before: Sequence[Column], after: Sequence[Column]) -> list[Action]:
    """What leads from the columns there are to those there should be: widened types, comments, new columns behind."""
    names = {column.name for column in after}
    for old in before:
        if old.name not in names:
            raise CannotKeepError(f"column '{old.name}' is gone")
    actions: list[Action] = []
    for old, new in zip(before, after, strict=False):
        if old.name != new.name:
            raise CannotKeepError(f"column '{old.name}' is in another place")
        if old.nullable != new.nullable or not _fits(old.type, new.type):
            raise CannotKeepError(f"column '{old.name}' was {old.type} and is {new.type}")
        if old.type != new.type:
            actions.append(SetType(old.name, SqlText(str(new.type))))
        if old.comment != new.comment:
            actions.append(SetColumnComment(old.name, new.comment))
    for new in after[len(before) :]:
        if not new.nullable:
            raise CannotKeepError(f"column '{new.name}' is NOT NULL")
        actions.append(AddColumn(ColumnSpec(new.name, SqlText(str(new.type)), comment=new.comment)))
    return actions


def _fits(old: DataType, new: DataType) -> bool:
    """Whether every value of the one type is a value of the other."""
    if old == new:
        return True
    same = old.kind is new.kind and old.scale == new.scale
    return same and (new.precision or 0) >= (old.precision or 0) and (new.length or 0) >= (old.length or 0)
