"""Rows that a statement computed here and Spark reads: in memory when they are few, in a file otherwise."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.core.types import Kind
from snowmelt.engine.model import TableFiles
from snowmelt.state.model import Column
from snowmelt.storage.layout import STAGING

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_MOST_IN_MEMORY = 20_000
_ROWS_A_TASK = 128 * 1024
"""Spark reads each such part of the file by itself, side by side."""


def needs_file(column: Column) -> bool:
    """Whether Spark takes the column's values, in stored form, from files only."""
    return column.type.kind is Kind.TIME


def are_better_in_a_file(rows: pa.Table, columns: Sequence[Column]) -> bool:
    return rows.num_rows > _MOST_IN_MEMORY or any(map(needs_file, columns))


def new_folder(run: Run) -> tuple[str, Path]:
    """A folder that is there until the statement ends, and a name for what lies in it."""
    folder = run.account.store.root.scratch / f"{STAGING}{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    name = folder.name.replace("-", "_")
    run.staged[name] = folder
    return name, folder


def as_file(run: Run, rows: pa.Table, columns: Sequence[Column]) -> str:
    """The name of rows in stored form, which lie in a file until the statement ends."""
    name, folder = new_folder(run)
    pq.write_table(rows, folder / "rows.parquet", row_group_size=_ROWS_A_TASK)
    run.tables[name] = TableFiles(
        reference=name, columns=tuple(columns), files=((folder / "rows.parquet").as_uri(),), bytes=rows.nbytes
    )
    return name


def readable(run: Run, rows: pa.Table, columns: Sequence[Column]) -> str:
    """The name of rows in stored form, wherever they are kept best."""
    if are_better_in_a_file(rows, columns):
        run.input_bytes += rows.nbytes
        return as_file(run, rows, columns)
    name = f"rows_{uuid.uuid4().hex}"
    run.inputs[name] = rows
    return name
