"""How data files are written: readable by everybody, and quick to write."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.storage.origins import ORIGIN_ROW

ROW_GROUP_ROWS = 32 * 1024
"""So few that rows are found by key without decoding much else; compression loses nothing by it, a scan little."""
_SAMPLE_ROWS = 4096
_WORTH_A_DICTIONARY = 0.5


def worth_threads(opened: pq.ParquetFile) -> bool:
    """Whether its columns are worth decoding side by side: waking threads up takes longer than decoding a few rows."""
    return bool(opened.metadata.num_rows > ROW_GROUP_ROWS)


def write_parquet(
    data: pa.Table, path: Path | pa.NativeFile, group_rows: int | None = None
) -> pq.FileMetaData:  # fmt: skip
    """The footer that the file has got."""
    # Decimals as integers are what Spark's vectorised reader is quickest with; Arrow's own schema is of no
    # use to the other readers.
    repetitive = _repetitive(data)
    moved = ORIGIN_ROW in data.column_names and isinstance(repetitive, list)
    footers: list[pq.FileMetaData] = []
    pq.write_table(
        data,
        path,
        compression="zstd",
        row_group_size=group_rows or ROW_GROUP_ROWS,
        use_dictionary=repetitive,
        # Numbers of rows rise by one most of the time: as differences they take next to nothing.
        column_encoding={ORIGIN_ROW: "DELTA_BINARY_PACKED"} if moved else None,
        store_decimal_as_integer=True,
        store_schema=False,
        metadata_collector=footers,
    )
    return footers[0]


def _repetitive(data: pa.Table) -> list[str] | bool:
    """The columns whose values repeat. Trying a dictionary on the others doubles the time a file takes."""
    if data.num_rows <= _SAMPLE_ROWS:
        return True
    middle = data.slice((data.num_rows - _SAMPLE_ROWS) // 2, _SAMPLE_ROWS)
    chosen = []
    for field, column in zip(middle.schema, middle.columns, strict=True):
        if pa.types.is_nested(field.type):
            continue  # its name stands for none of its leaves
        if pa.types.is_dictionary(field.type):
            chosen.append(field.name)
            continue
        if field.name == ORIGIN_ROW:
            continue
        if pc.count_distinct(column).as_py() < _WORTH_A_DICTIONARY * _SAMPLE_ROWS:
            chosen.append(field.name)
    return chosen
