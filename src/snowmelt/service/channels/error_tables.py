"""Where rejected rows go: a table beside the one that they were meant for, made when it is first needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.ingest.channels.rows import json_text
from snowmelt.service.channels.checking import Rejected
from snowmelt.service.channels.opened import Entry
from snowmelt.service.loading.sink import Sink
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.storage.schema import VARIANT, as_type
from snowmelt.storage.variant import encode, parse_json

if TYPE_CHECKING:
    from snowmelt.service.run import Run
    from snowmelt.service.session import Session

SUFFIX = "_CHANNEL_ERRORS"
_COLUMNS = (
    ("REJECTED_AT", "TIMESTAMP_LTZ"), ("CHANNEL_NAME", "VARCHAR"), ("OFFSET_TOKEN", "VARCHAR"),
    ("ROW_NUMBER", "NUMBER(38,0)"), ("COLUMN_NAME", "VARCHAR"), ("ERROR_CODE", "VARCHAR"),
    ("ERROR_MESSAGE", "VARCHAR"), ("ROW_DATA", "VARIANT"),
)  # fmt: skip
_TEXT_LIMIT = 4_096
"""Characters of a message: some quote the value that they are about."""


def name_of(table: ObjectName) -> ObjectName:
    return ObjectName(table.database, table.schema, table.name + SUFFIX)


def reason(rejected: Rejected) -> str:
    where = f"column {rejected.column}: " if rejected.column is not None else ""
    return f"{rejected.code}: {where}{rejected.message[:_TEXT_LIMIT]}"


def ensure(session: Session, table: CatalogObject) -> CatalogObject:
    """The error table of a table, with the rights that its owner has. Raises when its name is taken by another one."""
    name = name_of(table.name)
    found = _find(session, name)
    if found is None:
        columns = ", ".join(f"{column} {type_}" for column, type_ in _COLUMNS)
        session.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        found = _find(session, name)
    definition = found.definition if found is not None else None
    if found is None or not isinstance(definition, TableDefinition):
        raise errors.already_exists(str(name))
    if [column.name for column in definition.columns] != [column for column, _ in _COLUMNS]:
        raise errors.already_exists(str(name))
    return found


def _find(session: Session, name: ObjectName) -> CatalogObject | None:
    with session.account.state.read() as state:
        return state.catalog.find(name, [ObjectKind.TABLE, ObjectKind.VIEW], None)


def write(run: Run, error_table: CatalogObject, entries: Sequence[Entry]) -> None:
    """Puts the rejected rows into the error table, in the transaction that commits the others."""
    rows = [(entry, item) for entry in entries for item in entry.checked.rejected]
    columns: Mapping[str, Any] = {
        "REJECTED_AT": pa.array([run.now] * len(rows), pa.timestamp("us", "UTC")),
        "CHANNEL_NAME": _texts(entry.channel.state.name for entry, _ in rows),
        "OFFSET_TOKEN": _texts(item.offset_token for _, item in rows),
        "ROW_NUMBER": pa.array([item.row for _, item in rows], pa.int64()),
        "COLUMN_NAME": _texts(item.column for _, item in rows),
        "ERROR_CODE": _texts(item.code for _, item in rows),
        "ERROR_MESSAGE": _texts(item.message[:_TEXT_LIMIT] for _, item in rows),
        "ROW_DATA": _documents([item.data for _, item in rows]),
    }
    sink = Sink(run, error_table, "STREAMING INGEST")
    sink.add(0, pa.table(dict(columns)))
    sink.settle(0, keep=True)
    sink.commit()


def _texts(values: Any) -> pa.Array:
    return pa.array(list(values), pa.string())


def _documents(rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    """Rows as they were sent, as documents: as JSON has them, with text for what it has no type for."""
    parts = [encode(parse_json(json_text(_storable(row)))) for row in rows]
    return as_type(pa.array([{"metadata": m, "value": v} for m, v in parts], VARIANT), VARIANT)


def _storable(value: Any) -> Any:
    """NaN and infinities as text: JSON has no words for them."""
    match value:
        case dict():
            return {str(key): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
