"""Dynamic tables as SHOW and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.core.lag import show_lag
from snowmelt.core.names import quote
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, columns, word
from snowmelt.runtime.metadata.ddl_words import scd_clauses
from snowmelt.runtime.metadata.relations import clustering_key, sizes_of
from snowmelt.runtime.metadata.scopes import schema_scope
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.dynamic_model import DynamicDefinition, DynamicState
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, cluster_by, rows:n, bytes:n, owner, target_lag, "
    "refresh_mode, refresh_mode_reason, warehouse, comment, text, automatic_clustering, scheduling_state, "
    "last_suspended_on:ts, is_clone, is_replica, is_iceberg, data_timestamp:ts, owner_role_type, "
    "execute_as_user, secondary_role_names, insert_only_inputs, immutable_where, "
    "initialization_warehouse, backfill_from, scheduler, frozen_where, configured_refresh_mode"
)


def lag_text(declared: DynamicDefinition) -> str | None:
    """The target lag as SHOW prints it; None if no scheduler keeps one."""
    if not declared.scheduled:
        return None
    return "DOWNSTREAM" if declared.target_lag is None else show_lag(declared.target_lag)


def show_text(declared: DynamicDefinition) -> str:
    """The statement, reprinted with the options that hold now."""
    lag = lag_text(declared)
    options = {
        "lag": f"'{lag}'" if lag is not None and lag != "DOWNSTREAM" else lag,
        "scheduler": f"'{declared.scheduler}'" if declared.scheduler is not None else None,
        "refresh_mode": f"'{declared.refresh_mode}'",
        "initialize": f"'{declared.initialize}'",
        "warehouse": quote(declared.warehouse),
        "initialization_warehouse": (
            quote(declared.initialization_warehouse) if declared.initialization_warehouse is not None else None
        ),
    }
    shown = " ".join(f"{name} = {value}" for name, value in options.items() if value is not None)
    frozen = f" frozen where ({declared.frozen_where})" if declared.frozen_where is not None else ""
    if declared.dimension is not None:
        clauses = " ".join(scd_clauses(declared.dimension))
        return f"{declared.head} {clauses} {shown}{frozen} FROM {declared.dimension.source}"
    return f"{declared.head} {shown}{frozen} AS {declared.query}"


def dynamic_tables(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = schema_scope(run, state, statement)
    found = [
        item
        for item in objects(run, state, [ObjectKind.TABLE], scope.database, scope.schema)
        if isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None
    ]
    sizes = sizes_of(state, found)
    for item in found:
        assert isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None
        version = sizes.get(item.id)
        yield {
            **_declared(item, item.definition, item.definition.dynamic),
            **_standing(state.dynamic.require(item.id)),
            **_unless_monitored(run, item),
            "rows": version.rows if version is not None else None,
            "bytes": version.bytes if version is not None else None,
        }


def _unless_monitored(run: Run, item: CatalogObject) -> dict[str, Any]:
    """Who may read the rows need not know how they are made: the text is for those who monitor or operate it."""
    return {} if may_read_definition(run, item) else {"text": None}


def _declared(item: CatalogObject, definition: TableDefinition, declared: DynamicDefinition) -> dict[str, Any]:
    return {
        "created_on": item.created_on,
        "name": item.name.name,
        "database_name": item.name.database,
        "schema_name": item.name.schema,
        "cluster_by": clustering_key(definition),
        "owner": item.owner,
        "target_lag": lag_text(declared),
        "warehouse": declared.warehouse,
        "comment": item.comment or "",
        "text": show_text(declared),
        "automatic_clustering": "OFF",
        "is_clone": word(declared.is_clone),
        "is_replica": "false",
        "is_iceberg": "false",
        "owner_role_type": "ROLE",
        "immutable_where": declared.frozen_where,
        "initialization_warehouse": declared.initialization_warehouse,
        "backfill_from": declared.backfill_from,
        "scheduler": declared.scheduler,
        "frozen_where": declared.frozen_where,
        "configured_refresh_mode": declared.refresh_mode.value,
    }


def _standing(dynamic: DynamicState) -> dict[str, Any]:
    return {
        "refresh_mode": dynamic.refresh_mode.value,
        "refresh_mode_reason": dynamic.refresh_mode_reason,
        "scheduling_state": "SUSPENDED" if dynamic.suspended else "ACTIVE",
        "last_suspended_on": dynamic.suspended_on,
        "data_timestamp": dynamic.data_timestamp,
    }
