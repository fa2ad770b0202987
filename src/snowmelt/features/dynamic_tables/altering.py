"""ALTER DYNAMIC TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.data_products import lags
from snowmelt.features.dynamic_tables import declarations, graph, scheduling
from snowmelt.features.dynamic_tables.creating import visible_versions
from snowmelt.features.relations.alter_tables import alter_columns, rename, swap
from snowmelt.runtime import kinds, retention
from snowmelt.runtime.incremental import filling
from snowmelt.runtime.incremental.definitions import BoundDefinition, bind
from snowmelt.sql.statements.alter_table import ClusterBy, SetRecluster
from snowmelt.sql.statements.base import Action, NameRef
from snowmelt.sql.statements.changes import RenameTo, SetColumnComment, SetOptions, SwapWith, UnsetOptions
from snowmelt.sql.statements.dynamic_tables import DynamicTableOptions, SetFrozen
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.state.dynamic_model import DynamicDefinition
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def find(run: Run, name: NameRef) -> CatalogObject | None:
    """The dynamic table that a statement names; a table or view of that name is an error."""
    full = run.object_name(name, "ALTER DYNAMIC TABLE")
    with run.state.read() as state:
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
    if kinds.annotate_relation(run, table, actions) is not None:
        return
    match actions[0]:
        case Suspend():
            with run.state.begin() as state:
                scheduling.suspend(state, table)
        case Resume():
            with run.state.begin() as state:
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
            raise errors.unsupported_action("DYNAMIC TABLE", other)


def _note(run: Run, table: CatalogObject, trigger: str) -> None:
    with run.state.begin() as state:
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
    extension: int | None = None
    reset_extension = False
    before = dynamic_part(table)
    assert before is not None and isinstance(table.definition, TableDefinition)
    for action in actions:
        match action:
            case SetOptions(options=options):
                assert isinstance(options, DynamicTableOptions)
                run.account.contracts.set_contract(run, table, options)
                changes |= _changed(run, options, triggers)
                if options.comment is not None:
                    values["comment"] = options.comment
                days = options.data_retention_time_in_days if options.data_retention_time_in_days is not None else days
                retention.check(days, transient=table.definition.transient)
                if options.max_data_extension_time_in_days is not None:
                    extension = options.max_data_extension_time_in_days
            case UnsetOptions(names=names):
                if "COMMENT" in names:
                    values["comment"] = None
                run.account.contracts.set_contract(run, table, DynamicTableOptions(), names)
                reset_days = retention.KEY in names
                reset_extension = retention.EXTENSION_KEY in names
                if "INITIALIZATION_WAREHOUSE" in names:
                    changes["initialization_warehouse"] = None
                if "SCHEDULER" in names:
                    changes["scheduler"] = None
            case SetFrozen(where=where):
                changes["frozen_where"] = where.text if where is not None else None
                if before.frozen_where is not None and before.frozen_where != changes["frozen_where"]:
                    reinit = "The frozen region was changed."
    declared = before.model_copy(update=changes)
    check(run, table, declared)
    with run.state.begin() as state:
        current = state.catalog.by_id(table.id)
        if current is None or not isinstance(current.definition, TableDefinition):
            raise errors.not_found("Dynamic table", str(table.name))
        part = dynamic_part(current)
        assert part is not None
        definition = current.definition.model_copy(update={"dynamic": part.model_copy(update=changes)})
        current = current.model_copy(update={**values, "definition": definition, "altered_on": state.now})
        if days is not None or reset_days:
            current = retention.set_table(state, current, days)
        if extension is not None or reset_extension:
            retention.set_extension(state, table.id, extension)
        state.catalog.update(current)
        if reinit is not None:
            state.dynamic.change(table.id, reinit_reason=reinit)
        if "frozen_where" in changes:
            # Whether time alone can change the table is seen at the next refresh, which must not be passed over.
            state.dynamic.change(table.id, time_dependent=True)
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


def check(run: Run, table: CatalogObject, declared: DynamicDefinition) -> None:
    """The lag must fit to those of the tables above and below; the frozen region must be a condition."""
    before = dynamic_part(table)
    assert before is not None and isinstance(table.definition, TableDefinition)
    with run.state.read() as state:
        if declared.target_lag != before.target_lag:
            nodes = graph.load(state).nodes
            changed = table.model_copy(update={"definition": table.definition.model_copy(update={"dynamic": declared})})
            upstream = [nodes[id].table for id in nodes[table.id].upstream]
            declarations.check_lag(table.name, declared.target_lag, upstream)
            lags.check_table(state, table.name, declared.target_lag)
            for node in nodes.values():
                if table.id in node.upstream:
                    declarations.check_lag(node.table.name, node.definition.target_lag, [changed])
        if declared.frozen_where is not None and declared.frozen_where != before.frozen_where:
            bound = bound_now(run, table.name, declared)
            definition = table.definition.model_copy(update={"dynamic": declared})
            filling.frozen_condition(bound.environment, definition, stored_form=False)


def bound_now(run: Run, name: ObjectName, declared: DynamicDefinition) -> BoundDefinition:
    """The query over what anybody would read now."""
    with run.state.read() as state:
        return bind(run, state, name, declared, run.now, visible_versions(run))
