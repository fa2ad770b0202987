"""CREATE and ALTER WAREHOUSE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.runtime import contexts, parameters
from snowmelt.runtime.results import DONE, Result, kept, status
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.warehouses import (
    AbortAllQueries,
    AlterWarehouse,
    CreateWarehouse,
    Resume,
    Suspend,
    WarehouseOptions,
)
from snowmelt.state.ids import new_id
from snowmelt.state.model import ObjectKind, ParameterLevel, TableDefinition, Warehouse, WarehouseState
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_FIELDS = {
    "WAREHOUSE_SIZE": "size",
    "WAREHOUSE_TYPE": "type",
    "MAX_CLUSTER_COUNT": "max_cluster_count",
    "MIN_CLUSTER_COUNT": "min_cluster_count",
    "SCALING_POLICY": "scaling_policy",
    "AUTO_SUSPEND": "auto_suspend",
    "AUTO_RESUME": "auto_resume",
    "COMMENT": "comment",
    "ENABLE_QUERY_ACCELERATION": "query_acceleration",
    "QUERY_ACCELERATION_MAX_SCALE_FACTOR": "query_acceleration_max_scale_factor",
}
"""Options that are kept with the warehouse."""
_PARAMETERS = ("MAX_CONCURRENCY_LEVEL", "STATEMENT_QUEUED_TIMEOUT_IN_SECONDS", "STATEMENT_TIMEOUT_IN_SECONDS")


def create_warehouse(run: Run, statement: CreateWarehouse) -> Result:
    name = run.parts(statement.name)[-1]
    options = statement.options
    metering = run.account.metering
    with metering.changing(run.authority.sight) as state:
        existing = state.warehouses.get(name)
        if existing is not None:
            if statement.if_not_exists:
                return kept(name, "CREATE_WAREHOUSE")
            if statement.or_alter:
                _set(run, state, existing, options)
                return status(DONE, "CREATE_WAREHOUSE")
            if not statement.or_replace:
                raise errors.already_exists(quote(name))
            metering.dropped(state, existing)
            state.warehouses.drop(name)
        warehouse = Warehouse(
            id=new_id(), name=name, owner=run.session.role, created_on=state.now, resumed_on=state.now,
            altered_on=state.now, state=WarehouseState.SUSPENDED, **_fields(options),
        )  # fmt: skip
        _check(warehouse)
        state.warehouses.create(warehouse)
        _set_parameters(state, warehouse, options)
        if not options.initially_suspended:
            metering.up(state, warehouse)
    run.session.warehouse = name
    return status(f"Warehouse {quote(name)} successfully created.", "CREATE_WAREHOUSE")


def alter_warehouse(run: Run, statement: AlterWarehouse) -> Result:
    name = _named(run, statement.name)
    if isinstance(statement.action, AbortAllQueries):
        _abort(run, name)
        return status(DONE, "ALTER_WAREHOUSE")
    metering = run.account.metering
    with metering.changing(run.authority.sight) as state:
        warehouse = state.warehouses.get(name)
        if warehouse is None:
            if statement.if_exists:
                return status(DONE, "ALTER_WAREHOUSE")
            raise errors.not_found("Warehouse", quote(name))
        match statement.action:
            case Suspend():
                if warehouse.state is WarehouseState.SUSPENDED:
                    raise _invalid_state("090064", name, "suspended")
                metering.down(state, warehouse)
            case Resume(if_suspended=if_suspended):
                if warehouse.state is WarehouseState.SUSPENDED:
                    metering.up(state, warehouse)
                elif not if_suspended:
                    raise _invalid_state("090063", name, "resumed")
            case RenameTo(new_name=new_name):
                _rename(run, state, warehouse, run.parts(new_name)[-1])
                _follow(state, name, run.parts(new_name)[-1])
            case SetOptions(options=options):
                assert isinstance(options, WarehouseOptions)
                _set(run, state, warehouse, options)
            case UnsetOptions(names=names):
                _unset(run, state, warehouse, names)
            case _:
                raise errors.unsupported_action("WAREHOUSE", statement.action)
    if isinstance(statement.action, RenameTo):
        contexts.warehouse_renamed(run.account, name, run.parts(statement.action.new_name)[-1])
    return status(DONE, "ALTER_WAREHOUSE")


def _follow(state: StateTransaction, old: str, new: str) -> None:
    """Dynamic tables stay with a warehouse that is renamed."""
    for table in state.whole_catalog.objects([ObjectKind.TABLE], include_dropped=True):
        dynamic = table.definition.dynamic if isinstance(table.definition, TableDefinition) else None
        if dynamic is None or old not in (dynamic.warehouse, dynamic.initialization_warehouse):
            continue
        first = dynamic.initialization_warehouse
        changed = dynamic.model_copy(
            update={
                "warehouse": new if dynamic.warehouse == old else dynamic.warehouse,
                "initialization_warehouse": new if first == old else first,
            }
        )
        definition = table.definition.model_copy(update={"dynamic": changed})
        state.catalog.update(table.model_copy(update={"definition": definition}))


def _named(run: Run, name: NameRef | None) -> str:
    if name is not None:
        return run.parts(name)[-1]
    if run.session.warehouse is None:
        raise errors.no_active_warehouse()
    return run.session.warehouse


def _invalid_state(code: str, name: str, verb: str) -> errors.SnowmeltError:
    return errors.SnowmeltError(code, "22000", f"Invalid state. Warehouse '{quote(name)}' cannot be {verb}.")


def _fields(options: WarehouseOptions) -> dict[str, Any]:
    return {_FIELDS[key]: value for key, value in options.given().items() if key in _FIELDS}


def _check(warehouse: Warehouse) -> None:
    if warehouse.min_cluster_count > warehouse.max_cluster_count:
        raise errors.invalid_value(str(warehouse.min_cluster_count), "MIN_CLUSTER_COUNT")


def _set(run: Run, state: StateTransaction, warehouse: Warehouse, options: WarehouseOptions) -> None:
    changed = warehouse.model_copy(update={**_fields(options), "altered_on": state.now})
    _store(run, state, warehouse, changed)
    _set_parameters(state, warehouse, options)


def _unset(run: Run, state: StateTransaction, warehouse: Warehouse, names: tuple[str, ...]) -> None:
    defaults = {_FIELDS[name]: Warehouse.model_fields[_FIELDS[name]].default for name in names if name in _FIELDS}
    _store(run, state, warehouse, warehouse.model_copy(update={**defaults, "altered_on": state.now}))
    for name in names:
        if name in _PARAMETERS:
            state.parameters.unset(ParameterLevel.WAREHOUSE, warehouse.id, name)


def _store(run: Run, state: StateTransaction, before: Warehouse, after: Warehouse) -> None:
    _check(after)
    state.warehouses.update(after)
    run.account.metering.changed(state, before, after)


def _set_parameters(state: StateTransaction, warehouse: Warehouse, options: WarehouseOptions) -> None:
    for key, value in options.given().items():
        if key in _PARAMETERS:
            kept = parameters.check(key, value) if key in parameters.PARAMETERS else value
            state.parameters.set(ParameterLevel.WAREHOUSE, warehouse.id, key, str(kept))


def _rename(run: Run, state: StateTransaction, warehouse: Warehouse, new: str) -> None:
    if state.warehouses.get(new) is not None:
        raise errors.already_exists(quote(new))
    _store(run, state, warehouse, warehouse.model_copy(update={"name": new, "altered_on": state.now}))


def _abort(run: Run, name: str) -> None:
    with run.state.read() as state:
        if state.warehouses.get(name) is None:
            raise errors.not_found("Warehouse", quote(name))
    for session in run.account.sessions():
        if session.warehouse == name and session is not run.session:
            session.cancel()
