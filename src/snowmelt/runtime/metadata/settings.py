"""Parameters and session variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import SchemaName, quote
from snowmelt.core.types import DataType, Kind
from snowmelt.runtime import parameters
from snowmelt.runtime.metadata.catalog import find_relation
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.render import render
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_RETENTION = parameters.Parameter(
    "DATA_RETENTION_TIME_IN_DAYS", 1, "Days for which deleted and changed data is kept for time travel."
)
_EXTENSION = parameters.Parameter(
    "MAX_DATA_EXTENSION_TIME_IN_DAYS", 14, "The most days by which retention may be extended for streams."
)
_OBJECT_PARAMETERS = (_RETENTION, _EXTENSION)
_WAREHOUSE_PARAMETERS = (
    parameters.Parameter("MAX_CONCURRENCY_LEVEL", 8, "Accepted for clients."),
    parameters.PARAMETERS["STATEMENT_QUEUED_TIMEOUT_IN_SECONDS"],
    parameters.PARAMETERS["STATEMENT_TIMEOUT_IN_SECONDS"],
)
_VARIABLE_TYPES = {Kind.NUMBER: "fixed", Kind.FLOAT: "real", Kind.VARCHAR: "text", Kind.NULL: "text"}


@dataclass(frozen=True, slots=True)
class _Holder:
    """An object that parameters can be set on."""

    level: str
    id: str
    retention_days: int | None = None
    """For databases, schemas and tables, which store their own retention."""


def show_parameters(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    kind = statement.scope.kind if statement.scope is not None else "SESSION"
    name = statement.scope.name if statement.scope is not None else None
    match kind:
        case "SESSION":
            return _session(run, state)
        case "ACCOUNT":
            return _account(state)
        case "USER":
            if name is not None and run.parts(name)[0] != run.session.user:
                raise errors.not_found("User", quote(run.parts(name)[0]))
            return _account(state)
        case "WAREHOUSE":
            return _warehouse(run, state, name)
        case "DATABASE" | "SCHEMA" | "TABLE" | "VIEW":
            return _object(run, state, kind, name)
    raise errors.unsupported(f"SHOW PARAMETERS IN {kind}")


def _session(run: Run, state: StateReader) -> Iterator[Row]:
    account = state.parameters.all("ACCOUNT", "")
    for parameter in parameters.PARAMETERS.values():
        level = (
            "SESSION" if parameter.name in run.session.parameters else "ACCOUNT" if parameter.name in account else ""
        )
        yield _row(parameter, run.session.parameter(parameter.name), level)


def _account(state: StateReader) -> Iterator[Row]:
    given = state.parameters.all("ACCOUNT", "")
    for parameter in (*parameters.PARAMETERS.values(), *_OBJECT_PARAMETERS):
        yield _row(
            parameter, given.get(parameter.name, parameter.default), "ACCOUNT" if parameter.name in given else ""
        )


def _warehouse(run: Run, state: StateReader, name: NameRef | None) -> Iterator[Row]:
    chosen = run.parts(name)[0] if name is not None else run.session.warehouse
    warehouse = state.warehouses.get(chosen) if chosen is not None else None
    if warehouse is None:
        raise errors.cannot_operate()
    return _given(state, _Holder("WAREHOUSE", warehouse.id), _WAREHOUSE_PARAMETERS)


def _object(run: Run, state: StateReader, kind: str, name: NameRef | None) -> Iterator[Row]:
    return _given(state, _holder(run, state, kind, name), _OBJECT_PARAMETERS)


def _holder(run: Run, state: StateReader, kind: str, name: NameRef | None) -> _Holder:
    if kind == "DATABASE":
        chosen = run.parts(name)[0] if name is not None else run.session.database
        database = state.catalog.database(chosen) if chosen is not None else None
        if database is not None:
            return _Holder("DATABASE", database.id, database.retention_days)
    elif kind == "SCHEMA":
        full = _schema_name(run, name)
        schema = state.catalog.schema(full) if full is not None else None
        if schema is not None:
            return _Holder("SCHEMA", schema.id, schema.retention_days)
    elif name is not None:
        found = find_relation(run, state, run.object_name(name, "SHOW PARAMETERS"))
        if found is not None:
            definition = found.definition
            days = definition.retention_days if isinstance(definition, TableDefinition) else None
            return _Holder("TABLE", found.id, days)
        raise errors.not_found("Table", str(run.object_name(name)))
    raise errors.cannot_operate()


def _schema_name(run: Run, name: NameRef | None) -> SchemaName | None:
    if name is not None:
        return run.schema_name(name)
    session = run.session
    if session.database is None or session.schema is None:
        return None
    return SchemaName(session.database, session.schema)


def _given(state: StateReader, holder: _Holder, known: tuple[parameters.Parameter, ...]) -> Iterator[Row]:
    given: dict[str, object] = dict(state.parameters.all(holder.level, holder.id))
    if holder.retention_days is not None and holder.retention_days != _RETENTION.default:
        given.setdefault(_RETENTION.name, holder.retention_days)
    for parameter in known:
        is_given = parameter.name in given
        yield _row(parameter, given.get(parameter.name, parameter.default), holder.level if is_given else "")


def _row(parameter: parameters.Parameter, value: object, level: str) -> Row:
    return {
        "key": parameter.name,
        "value": _text(value),
        "default": _text(parameter.default),
        "level": level,
        "description": parameter.description,
        "type": parameter.type,
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def variables(run: Run, _: StateReader, __: ShowStatement) -> Iterator[Row]:
    for name, variable in sorted(run.session.variables.items()):
        yield {
            "session_id": run.session.id,
            "name": name,
            "value": render(variable.value, variable.type),
            "type": _variable_type(variable.type),
            "comment": "",
        }


def _variable_type(type_: DataType) -> str:
    """The driver's word for a type, which is what Snowflake shows here."""
    return _VARIABLE_TYPES.get(type_.kind, type_.kind.value.lower())


LISTINGS = {
    "PARAMETERS": Listing(show_parameters, named="key", paged=False),
    "VARIABLES": Listing(variables, paged=False),
}
