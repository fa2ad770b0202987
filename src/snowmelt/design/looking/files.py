"""Facts from files: columns, rows, and what looks like a key or a change column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from snowmelt.core import errors
from snowmelt.design.requirements.model import DescribedColumn, Table

_CHANGES = re.compile(r"(last_)?(updated|modified|changed)(_at|_on|_ts|_time)?|event_time|ts_ms", re.IGNORECASE)
_PII = re.compile(
    r"(e_?mail|phone|mobile|ssn|passport|iban|birth(day|date|_date)|date_of_birth|(first|last|full|sur)_?name"
    r"|street|address|ip_address)", re.IGNORECASE,
)  # fmt: skip
_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_SAMPLE_ROWS = 100_000


def looks_personal(column: str) -> bool:
    """A guess by the name, which a person has to confirm."""
    return _PII.search(column) is not None


def looks_like_change(column: str) -> bool:
    return _CHANGES.fullmatch(column) is not None


def look_at_file(path: Path) -> Table:
    """What can be told from one file of a kind. Raises for one that can't be read."""
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None:
        raise errors.configuration(f"{path} is not one of {', '.join(_FORMATS)}.")
    try:
        size = path.stat().st_size
        if kind == "parquet":
            found = pa.parquet.ParquetFile(path)
            rows, sample = found.metadata.num_rows, found.schema_arrow.empty_table()
            if found.metadata.num_row_groups:
                sample = found.read_row_group(0)
        else:
            sample = pa.csv.read_csv(path) if kind == "csv" else pa.json.read_json(path)
            rows = sample.num_rows
    except (OSError, pa.ArrowException) as error:
        raise errors.configuration(f"{path} can't be read: {error}.") from None
    sample = sample.slice(0, _SAMPLE_ROWS)
    columns = tuple(_column(sample, name) for name in sample.column_names)
    return Table(
        name=path.name, columns=columns, key=_key(sample), rows=rows, size=size,
        change_column=next((name for name in sample.column_names if looks_like_change(name)), None),
    )  # fmt: skip


def _column(sample: pa.Table, name: str) -> DescribedColumn:
    values = sample[name]
    return DescribedColumn(
        name=name, type=sql_type(values.type), nullable=values.null_count > 0 or not len(values),
        pii=looks_personal(name),
    )  # fmt: skip


def _key(sample: pa.Table) -> tuple[str, ...]:
    """The first column that is called like a key and whose values are all there and all different."""
    if not sample.num_rows:
        return ()
    for name in sample.column_names:
        values = sample[name]
        if not re.fullmatch(r"(.*_)?(id|key|uuid)", name, re.IGNORECASE) or values.null_count:
            continue
        if len(values.unique()) == sample.num_rows:
            return (name,)
    return ()


def sql_type(type_: pa.DataType) -> str:
    """The type here of an Arrow type."""
    tests: Sequence[tuple[bool, str]] = (
        (pa.types.is_boolean(type_), "BOOLEAN"),
        (pa.types.is_integer(type_), "NUMBER(38,0)"),
        (pa.types.is_floating(type_), "FLOAT"),
        (pa.types.is_date(type_), "DATE"),
        (pa.types.is_time(type_), "TIME"),
        (pa.types.is_timestamp(type_), "TIMESTAMP_LTZ" if getattr(type_, "tz", None) else "TIMESTAMP_NTZ"),
        (pa.types.is_binary(type_) or pa.types.is_large_binary(type_), "BINARY"),
        (pa.types.is_nested(type_), "VARIANT"),
    )
    if pa.types.is_decimal(type_):
        return f"NUMBER({type_.precision},{type_.scale})"
    return next((word for holds, word in tests if holds), "VARCHAR")
