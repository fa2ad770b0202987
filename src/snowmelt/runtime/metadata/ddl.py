"""The statements that would create what exists: the text of GET_DDL.

This text is for people and for running again, so it is printed in Snowflake's layout; nothing here executes it. What
it creates when run has the same definition, as far as SHOW and DESCRIBE can tell.
"""

from __future__ import annotations

from collections.abc import Iterable

from snowmelt.core.lag import show_lag
from snowmelt.core.names import literal
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.metadata.ddl_words import comment, flag, listed, object_name, scd_clauses
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.dynamic_model import DynamicDefinition
from snowmelt.state.model import (
    CatalogObject,
    Column,
    Database,
    IdentityColumn,
    Schema,
    SequenceDefinition,
    TableDefinition,
    ViewDefinition,
    Warehouse,
    WarehouseState,
)

SYSTEM_NAME = "SYS_CONSTRAINT_"
"""How the names of constraints begin that the user did not name; they are not printed."""


def object_ddl(item: CatalogObject, *, qualified: bool = False) -> str:
    """The CREATE statement of anything that lives in a schema."""
    name = object_name(item.name, qualified=qualified)
    match item.definition:
        case TableDefinition() as table:
            return _table(item, table, name)
        case ViewDefinition() as view:
            return _view(item, view, name)
        case SequenceDefinition() as sequence:
            return _sequence(item, sequence, name)
        case _:
            return all_kinds().by_name[item.kind].ddl(item, qualified)


def database_ddl(item: Database) -> str:
    return f"create or replace {'TRANSIENT ' if item.transient else ''}DATABASE {spelled(item.name)}{_container(item)};"


def schema_ddl(item: Schema, *, qualified: bool = False) -> str:
    name = f"{spelled(item.database)}.{spelled(item.name)}" if qualified else spelled(item.name)
    managed = " WITH MANAGED ACCESS" if item.managed_access else ""
    transient = "TRANSIENT " if item.transient else ""
    return f"create or replace {transient}SCHEMA {name}{managed}{_container(item)};"


def warehouse_ddl(item: Warehouse) -> str:
    options = {
        "warehouse_type": literal(item.type),
        "warehouse_size": literal(item.size),
        "max_cluster_count": str(item.max_cluster_count),
        "min_cluster_count": str(item.min_cluster_count),
        "scaling_policy": item.scaling_policy,
        "auto_suspend": "NULL" if item.auto_suspend is None else str(item.auto_suspend),
        "auto_resume": flag(item.auto_resume),
        "initially_suspended": flag(item.state is WarehouseState.SUSPENDED),
        "enable_query_acceleration": flag(item.query_acceleration),
        "query_acceleration_max_scale_factor": str(item.query_acceleration_max_scale_factor),
    }
    if item.comment is not None:
        options["comment"] = literal(item.comment)
    lines = "".join(f"\n\t{option}={value}" for option, value in options.items())
    return f"create or replace warehouse {spelled(item.name)}\nwith{lines}\n;"


def _container(item: Database | Schema) -> str:
    retention = f" DATA_RETENTION_TIME_IN_DAYS={item.retention_days}" if item.retention_days != 1 else ""
    return f"{retention}{comment(item.comment)}"


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(item: CatalogObject, definition: TableDefinition, name: str) -> str:
    if definition.dynamic is not None:
        return _dynamic_table(item, definition, definition.dynamic, name)
    kind = "TEMPORARY " if item.session_id is not None else "TRANSIENT " if definition.transient else ""
    clustering = f" cluster by ({', '.join(definition.cluster_by)})" if definition.cluster_by else " "
    lines = [_column(column) for column in definition.columns]
    lines.extend(_constraints(definition))
    body = ",".join(f"\n\t{line}" for line in lines)
    return f"create or replace {kind}TABLE {name}{clustering}({body}\n){_table_options(item, definition)};"


def _dynamic_table(item: CatalogObject, definition: TableDefinition, dynamic: DynamicDefinition, name: str) -> str:
    """Columns with their types only where the statement had them: otherwise the query says both."""
    options = " ".join(_dynamic_options(item, definition, dynamic))
    kind = "transient " if definition.transient else ""
    if dynamic.dimension is not None:
        head = f"create or replace {kind}scd type {dynamic.dimension.type} table {name}"
        return "\n\t".join([head, *scd_clauses(dynamic.dimension), options, f"from {dynamic.dimension.source};"])
    columns = ",".join(f"\n\t{_dynamic_column(column, dynamic)}" for column in definition.columns)
    # A comment on the last line would swallow the semicolon.
    last = dynamic.query.rsplit("\n", maxsplit=1)[-1]
    end = "\n;" if any(mark in last for mark in ("--", "//")) else ";"
    return f"create or replace {kind}dynamic table {name}({columns}\n) {options}\n as {dynamic.query}{end}"


def _dynamic_options(item: CatalogObject, definition: TableDefinition, dynamic: DynamicDefinition) -> list[str]:
    lag = "DOWNSTREAM" if dynamic.target_lag is None else f"'{show_lag(dynamic.target_lag)}'"
    options = [f"target_lag = {lag}"] if dynamic.scheduled else []
    if dynamic.scheduler is not None:
        options.append(f"scheduler = {dynamic.scheduler}")
    options += [f"refresh_mode = {dynamic.refresh_mode}", f"initialize = {dynamic.initialize}"]
    options.append(f"warehouse = {spelled(dynamic.warehouse)}")
    if dynamic.initialization_warehouse is not None:
        options.append(f"initialization_warehouse = {spelled(dynamic.initialization_warehouse)}")
    if definition.cluster_by:
        options.append(f"cluster by ({', '.join(definition.cluster_by)})")
    if definition.retention_days != 1:
        options.append(f"data_retention_time_in_days = {definition.retention_days}")
    if dynamic.frozen_where is not None:
        options.append(f"frozen where ({dynamic.frozen_where})")
    if dynamic.require_user:
        options.append("require user")
    if item.comment is not None:
        options.append(f"comment = {literal(item.comment)}")
    return options


def _dynamic_column(column: Column, dynamic: DynamicDefinition) -> str:
    if dynamic.explicit_columns:
        return _column(column)
    return spelled(column.name) + (f" COMMENT {literal(column.comment)}" if column.comment is not None else "")


def _column(column: Column) -> str:
    text = f"{spelled(column.name)} {column.type}"
    if not column.nullable:
        text += " NOT NULL"
    if column.default is not None:
        text += f" DEFAULT {column.default}"
    if column.identity is not None:
        text += _identity(column.identity)
    if column.comment is not None:
        text += f" COMMENT {literal(column.comment)}"
    return text


def _identity(identity: IdentityColumn) -> str:
    order = "order" if identity.ordered else "noorder"
    return f" autoincrement start {identity.start} increment {identity.step} {order}"


def _constraints(definition: TableDefinition) -> Iterable[str]:
    """All of them behind the columns, each as one: a key of two columns is not two keys."""
    primary = definition.primary_key
    if primary is not None:
        yield f"{_named(primary.name)}primary key {listed(primary.columns)}"
    for key in definition.unique_keys:
        yield f"{_named(key.name)}unique {listed(key.columns)}"
    for foreign in definition.foreign_keys:
        target = object_name(foreign.references, qualified=True)
        referenced = listed(foreign.referenced_columns) if foreign.referenced_columns else ""
        yield f"{_named(foreign.name)}foreign key {listed(foreign.columns)} references {target}{referenced}"
    for check in definition.checks:
        yield f"{_named(check.name)}check ({check.expression})"


def _named(constraint: str) -> str:
    return "" if constraint.startswith(SYSTEM_NAME) else f"constraint {spelled(constraint)} "


def _table_options(item: CatalogObject, definition: TableDefinition) -> str:
    options = []
    if definition.retention_days != 1:
        options.append(f"DATA_RETENTION_TIME_IN_DAYS={definition.retention_days}")
    if definition.change_tracking:
        options.append("CHANGE_TRACKING=TRUE")
    elif not definition.change_feed:
        options.append("CHANGE_TRACKING=FALSE")
    if definition.schema_evolution:
        options.append("ENABLE_SCHEMA_EVOLUTION=TRUE")
    if item.comment is not None:
        options.append(f"COMMENT={literal(item.comment)}")
    return "".join(f"{option}\n" for option in options)


# -- views, sequences, files ------------------------------------------------------------------------------------------


def _view(item: CatalogObject, definition: ViewDefinition, name: str) -> str:
    kind = f"{'secure ' if definition.secure else ''}{'temporary ' if item.session_id is not None else ''}"
    columns = ",".join(
        f"\n\t{spelled(column.name)}" + (f" COMMENT {literal(column.comment)}" if column.comment is not None else "")
        for column in definition.columns
    )
    tracking = " CHANGE_TRACKING=TRUE" if definition.change_tracking else ""
    query = definition.query.strip().rstrip(";").rstrip()
    # A comment on the last line would swallow the semicolon.
    end = "\n;" if any(mark in query.rsplit("\n", maxsplit=1)[-1] for mark in ("--", "//")) else ";"
    head = f"create or replace {kind}view {name}({columns}\n)"
    return f"{head}{tracking}{comment(item.comment)} as {query}{end}"


def _sequence(item: CatalogObject, definition: SequenceDefinition, name: str) -> str:
    order = "order" if definition.ordered else "noorder"
    numbers = f"start with {definition.start} increment by {definition.step} {order}"
    return f"create or replace sequence {name} {numbers}{comment(item.comment)};"
