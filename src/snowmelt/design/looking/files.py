"""Facts from files, wherever they are: columns, rows, size, and how often one comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from snowmelt.core import errors
from snowmelt.design.looking.columns import table_of_sample
from snowmelt.design.requirements.model import Options, Table
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.records import Rows
from snowmelt.extract_load.sources.formats import chunks, format_of
from snowmelt.extract_load.stores.base import StoredFile
from snowmelt.extract_load.stores.opening import open_store

_SAMPLE_ROWS = 100_000
_BLOCK = 8 * 1024 * 1024
"""Bytes of a text file that are looked into; of a larger one the rows are counted by its size."""
_FEWEST = 3
"""Files, to say how often one comes."""


@dataclass(frozen=True, slots=True)
class SeenFiles:
    table: Table
    every: float | None = None
    """Seconds between two files, in the middle."""
    count: int = 1


def look_at_files(endpoint: Endpoint, tables: Sequence[Table]) -> list[SeenFiles]:
    """Of each table that has files: one is looked into, and of the others the size is known."""
    store = open_store(endpoint.where(), endpoint.settings())
    found = []
    try:
        for table in tables:
            files = store.files(table.name)
            if not files:
                continue
            with store.local(files[0].name) as path:
                seen = _look_at_file(path, table.options)
            found.append(_of_all(table.name, seen, files))
    finally:
        store.close()
    return found


def _of_all(name: str, seen: Table, files: Sequence[StoredFile]) -> SeenFiles:
    sizes = [file.size for file in files if file.size is not None]
    facts: dict[str, object] = {"name": name}
    if len(files) > 1 and len(sizes) == len(files) and sizes[0]:
        facts["size"] = float(sum(sizes))
        facts["rows"] = round((seen.rows or 0) * sum(sizes) / sizes[0]) if seen.rows is not None else None
    return SeenFiles(seen.model_copy(update=facts), _every(files), len(files))


def _every(files: Sequence[StoredFile]) -> float | None:
    times = sorted(file.modified for file in files if file.modified is not None)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return median(gaps) if len(times) >= _FEWEST else None


def _look_at_file(path: Path, options: Options) -> Table:
    """What can be told from one file. Raises for one that can't be read."""
    kind = str(options.get("format") or format_of(path.name))
    size = path.stat().st_size
    try:
        if kind == "parquet":
            return _parquet(path, size)
        if kind in ("csv", "tsv"):
            delimiter = "\t" if kind == "tsv" else str(options.get("delimiter", ","))
            rows, whole = _text(path, delimiter), size <= _BLOCK
            count = rows.num_rows if whole else None if path.suffix == ".gz" else round(rows.num_rows * size / _BLOCK)
            return table_of_sample(path.name, Rows(rows.slice(0, _SAMPLE_ROWS)), rows=count, size=size)
        sample = next(iter(chunks(path, kind, _SAMPLE_ROWS)), None)
        if sample is None or not len(sample.rows):
            why = sample.rejected[0].reason if sample is not None and sample.rejected else "it has no record"
            raise errors.configuration(f"{path.name} can't be read: {why}.")
        counted = len(sample.rows) if sample.items < _SAMPLE_ROWS else None
        return table_of_sample(path.name, sample.rows, rows=counted, size=size)
    except (OSError, pa.ArrowException) as error:
        raise errors.configuration(f"{path.name} can't be read: {error}.") from None


def _parquet(path: Path, size: int) -> Table:
    with pa.parquet.ParquetFile(path) as opened:
        schema, rows = opened.schema_arrow, opened.metadata.num_rows
        sample = opened.read_row_group(0) if opened.metadata.num_row_groups else schema.empty_table()
    required = frozenset(field.name for field in schema if not field.nullable)
    return table_of_sample(path.name, Rows(sample.slice(0, _SAMPLE_ROWS)), required, rows=rows, size=size)


def _text(path: Path, delimiter: str) -> pa.Table:
    """The first block, with the types that its values have."""
    reading = pa.csv.ReadOptions(block_size=_BLOCK)
    with pa.csv.open_csv(path, reading, pa.csv.ParseOptions(delimiter=delimiter)) as opened:
        return pa.Table.from_batches([opened.read_next_batch()], schema=opened.schema)
