"""Changes as rows of the raw table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from snowmelt.ingest.cdc.envelope import CapturedChange
from snowmelt.ingest.cdc.values import array_of, variant_array
from snowmelt.state.model import CatalogObject, TableDefinition

_VALUES: dict[str, Callable[[CapturedChange], Any]] = {
    "OPERATION": lambda change: change.operation.value,
    "TABLE_NAME": lambda change: change.table,
    "BEFORE": lambda change: change.before,
    "AFTER": lambda change: change.after,
    "TS_MS": lambda change: change.ts_ms,
    "RECORD_KEY": lambda change: change.key,
    "SOURCE_LSN": lambda change: change.lsn,
    "SOURCE_TRANSACTION": lambda change: change.transaction,
    "SOURCE_SEQUENCE": lambda change: change.sequence,
    "SNAPSHOT": lambda change: change.snapshot.value or None,
}


def raw_rows(table: CatalogObject, changes: Sequence[CapturedChange], first: int, ingested_at: datetime) -> pa.Table:
    """One row a change, numbered from `first` on.

    A raw table that its user made may have fewer columns, or more: those are NULL.
    """
    assert isinstance(table.definition, TableDefinition)
    names: list[str] = []
    arrays: list[pa.Array] = []
    for column in table.definition.columns:
        if column.name == "INGESTED_AT":
            instant = ingested_at.isoformat()
            arrays.append(array_of([instant] * len(changes), column.type))
        elif column.name == "CHANGE_NUMBER":
            arrays.append(array_of(range(first, first + len(changes)), column.type))
        elif column.name in _VALUES:
            values = [_VALUES[column.name](change) for change in changes]
            semi_structured = column.type.is_semi_structured
            arrays.append(variant_array(values) if semi_structured else array_of(values, column.type))
        else:
            continue
        names.append(column.name)
    return pa.Table.from_arrays(arrays, names=names)
