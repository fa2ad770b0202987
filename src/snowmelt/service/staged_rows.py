"""Rows that a statement computed here and Spark reads: in memory when they are few, in a file otherwise."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.core.types import Kind
from snowmelt.engine.engine import TableFiles
from snowmelt.state.model import Column

if TYPE_CHECKING:
    from snowmelt.service.run import Run

_MOST_IN_MEMORY = 20_000
_ROWS_A_TASK = 128 * 1024
"""Spark reads each such part of the file by itself, side by side."""


def needs_file(column: Column) -> bool:
    """Whether Spark takes the column's values, in stored form, from files only."""
    return column.type.is_semi_structured or column.type.kind is Kind.TIME


def as_file(run: Run, rows: pa.Table, columns: Sequence[Column]) -> str:
    """The name of rows in stored form, which lie in a file until the statement ends."""
    folder = run.account.store.root.path(f"_staging-{uuid.uuid4().hex}")
    folder.mkdir(parents=True)
    pq.write_table(rows, folder / "rows.parquet", row_group_size=_ROWS_A_TASK)
    name = folder.name.replace("-", "_")
    run.staged[name] = folder
    run.tables[name] = TableFiles(
        reference=name, columns=tuple(columns), files=((folder / "rows.parquet").as_uri(),), bytes=rows.nbytes
    )
    return name


def readable(run: Run, rows: pa.Table, columns: Sequence[Column]) -> str:
    """The name of rows in stored form, wherever they are kept best."""
    if rows.num_rows > _MOST_IN_MEMORY or any(needs_file(column) for column in columns):
        run.input_bytes += rows.nbytes
        return as_file(run, rows, columns)
    name = f"rows_{uuid.uuid4().hex}"
    run.inputs[name] = rows
    return name
