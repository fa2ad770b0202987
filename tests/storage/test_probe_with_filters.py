"""Looking for keys that are anywhere between those of a file: it is read once, and then only for keys that it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snowmelt.storage import columns as kept_columns
from snowmelt.storage.columns import ColumnReader
from snowmelt.storage.key_filters import KeyFilters, SoughtKeys
from snowmelt.storage.probe import Among, search_files
from snowmelt.storage.snapshot import DataFile

_ROWS = 60_000
_SCHEMA = pa.schema([("ID", pa.int64()), ("NAME", pa.string())])


@pytest.fixture
def files(tmp_path: Path) -> list[DataFile]:
    """Even numbers, so that odd ones lie between them."""
    found = []
    for number in range(3):
        ids = (np.random.default_rng(number).permutation(_ROWS) * 3 + number) * 2
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"ID": ids, "NAME": [f"n{id_}" for id_ in ids]}, _SCHEMA), path)
        found.append(DataFile(f"file://{path}", path.name, path.stat().st_size, _ROWS))
    return found


def _found(files: list[DataFile], filters: KeyFilters, ids: list[int]) -> set[int]:
    keys = pa.table({"ID": ids, "NAME": [f"n{id_}" for id_ in ids]}, _SCHEMA)
    conditions = [Among.of(name, keys.column(name)) for name in keys.column_names]
    rows = search_files(files, _SCHEMA, conditions, ["ID"], 1_000, SoughtKeys.of(filters, keys))
    assert rows is not None
    return set(rows.column("ID").to_pylist())


def test_files_are_read_once(files: list[DataFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filters = KeyFilters(tmp_path / "keys")
    ids = [1, 6, 8, 101, 360_001]
    assert _found(files, filters, ids) == {6, 8}
    # A process that begins now: nothing is in memory.
    monkeypatch.setattr(kept_columns, "COLUMNS", kept_columns.ColumnCache())
    monkeypatch.setattr(ColumnReader.__init__, "__defaults__", (kept_columns.ColumnCache(),))
    read: list[str] = []
    opened = ColumnReader._file

    def noted(reader: ColumnReader) -> pq.ParquetFile:
        read.append(Path(reader._path).name)
        return opened(reader)

    monkeypatch.setattr(ColumnReader, "_file", noted)
    again = KeyFilters(tmp_path / "keys")
    assert _found(files, again, [1, 3, 101, 360_001]) == set() and read == []
    assert _found(files, again, [1, 6, 101]) == {6} and set(read) == {"0.parquet"}
