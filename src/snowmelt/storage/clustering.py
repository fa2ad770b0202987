"""How well a table's files are separated by a column: what its log's statistics say."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from snowmelt.storage.errors import translated
from snowmelt.storage.layout import StorageRoot

Range = tuple[Any, Any]


def file_ranges(root: StorageRoot, location: str, version: int, column: str) -> list[Range | None]:
    """The least and greatest value of a column, file by file; None where the writer left no statistics."""
    with translated(location):
        table = DeltaTable(root.uri_of(location), version=version, storage_options=root.options or None)
        actions = pa.table(table.get_add_actions(flatten=True))
    pairs = zip(_values(actions, f"min.{column}"), _values(actions, f"max.{column}"), strict=True)
    return [None if least is None or greatest is None else (least, greatest) for least, greatest in pairs]


def _values(actions: pa.Table, name: str) -> list[Any]:
    if name not in actions.column_names:
        return [None] * actions.num_rows
    values: list[Any] = actions.column(name).to_pylist()
    return values
