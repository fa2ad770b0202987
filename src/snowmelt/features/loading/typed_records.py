"""The records of Parquet and Avro files: columns that have names and types."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading.compression import UnreadableError, corrupted
from snowmelt.features.loading.file_formats import FileFormat, ParquetFormat
from snowmelt.features.loading.records import Segment, SourceField, nth
from snowmelt.ingest.channels.rows import DOCUMENTS
from snowmelt.storage.variant import to_json

_ROWS = 65_536
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BINARY = (
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view,
)  # fmt: skip


class ParquetStream:
    """The rows of one Parquet file; nested columns are JSON text."""

    def __init__(self, source: Any, format: FileFormat) -> None:
        self._format = format
        try:
            self._file = pq.ParquetFile(source)
        except (pa.ArrowException, OSError) as error:
            raise corrupted(f"not a Parquet file: {_line(error)}") from None
        as_text = isinstance(format, ParquetFormat) and format.binary_as_text
        self._types = [type_of(entry.type, as_text) for entry in self._file.schema_arrow]
        self.fields = tuple(
            SourceField(entry.name, type_) for entry, type_ in zip(self._file.schema_arrow, self._types, strict=True)
        )

    def segments(self) -> Iterator[Segment]:
        row = 1
        batches = self._file.iter_batches(batch_size=_ROWS)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise corrupted(f"the Parquet file is damaged: {_line(error)}") from None
            if batch is None:
                return
            columns = [
                _cleaned(in_query_form(batch.column(index), type_), type_, self._format)
                for index, type_ in enumerate(self._types)
            ]
            data = pa.table(columns, names=[nth(index) for index in range(len(columns))])
            rows = range(row, row + batch.num_rows)
            row += batch.num_rows
            yield Segment(data, rows, batch.num_rows, bytes=batch.nbytes)


def type_of(arrow: pa.DataType, binary_as_text: bool = False) -> DataType:
    """The Snowflake type of a column's values; VARIANT for what has no other."""
    if pa.types.is_dictionary(arrow):
        return type_of(arrow.value_type, binary_as_text)
    if pa.types.is_integer(arrow):
        return types.number(20, 0) if arrow == pa.uint64() else types.INTEGER
    if pa.types.is_decimal(arrow):
        if arrow.precision > types.MAX_PRECISION or not 0 <= arrow.scale <= arrow.precision:
            raise UnreadableError(errors.unsupported(f"a Parquet column of type {arrow}"))
        return types.number(arrow.precision, arrow.scale)
    if pa.types.is_timestamp(arrow):
        return types.TIMESTAMP_LTZ if arrow.tz is not None else types.TIMESTAMP_NTZ
    for tests, found in (
        ((pa.types.is_floating,), types.FLOAT),
        ((pa.types.is_boolean,), types.BOOLEAN),
        (_TEXT, types.VARCHAR),
        (_BINARY, types.VARCHAR if binary_as_text else types.BINARY),
        ((pa.types.is_date,), types.DATE),
        ((pa.types.is_time,), types.TIME),
        ((pa.types.is_null,), types.VARCHAR),
    ):
        if any(test(arrow) for test in tests):
            return found
    return types.VARIANT


_ARROW = {
    Kind.FLOAT: pa.float64(), Kind.BOOLEAN: pa.bool_(), Kind.VARCHAR: pa.string(), Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(), Kind.TIME: pa.time64("us"), Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
    Kind.TIMESTAMP_LTZ: pa.timestamp("us", "UTC"),
}  # fmt: skip


def in_query_form(column: Any, type_: DataType) -> Any:
    """A column in the Arrow form that its Snowflake type has in queries."""
    if type_.kind is Kind.VARIANT:
        return pa.array([None if item is None else to_json(_plain(item)) for item in column.to_pylist()], pa.string())
    if type_.kind is Kind.NUMBER:
        wanted = pa.int64() if type_.int64 else pa.decimal128(type_.precision, type_.scale)
    else:
        wanted = _ARROW[type_.kind]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == wanted:
        return column
    if type_.kind is Kind.VARCHAR and not any(test(column.type) for test in (*_TEXT, pa.types.is_null)):
        return _decoded(column)
    # Snowflake keeps microseconds here: what is finer is cut off.
    return column.cast(wanted, safe=not (type_.is_timestamp or type_.kind is Kind.TIME))


def documents_in(kind: pa.DataType) -> list[int]:
    """Which fields of an object are text that is JSON."""
    return [index for index, field in enumerate(kind) if DOCUMENTS.items() <= (field.metadata or {}).items()]


def object_texts(column: Any) -> Any:
    """Objects of Arrow as JSON."""
    documents = {column.type.field(index).name for index in documents_in(column.type)}
    texts = [None if item is None else _object_text(item, documents) for item in column.to_pylist()]
    return pa.array(texts, pa.string())


def _object_text(item: dict[str, Any], documents: set[str]) -> str:
    pairs = (
        (name, value if name in documents and value is not None else to_json(_plain(value)))
        for name, value in item.items()
    )
    return "{" + ",".join(f"{to_json(name)}:{text}" for name, text in pairs) + "}"


def _decoded(column: Any) -> Any:
    try:
        return column.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        bad = next(item for item in column.to_pylist() if item is not None and not _is_utf8(item))
        raise UnreadableError(
            errors.SnowmeltError(
                "100144",
                "22000",
                f"Invalid UTF8 detected in string '0x{bad[:20].hex().upper()}'",
                hint="Set BINARY_AS_TEXT = FALSE in the file format to load binary columns.",
            )
        ) from None


def _is_utf8(item: bytes) -> bool:
    try:
        item.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cleaned(column: Any, type_: DataType, format: FileFormat) -> Any:
    """TRIM_SPACE and NULL_IF, which touch text only."""
    if type_.kind is not Kind.VARCHAR:
        return column
    if format.trim_space:
        column = pc.utf8_trim_whitespace(column)
    if format.null_if:
        missing = pc.is_in(column, value_set=pa.array(format.null_if, pa.string()))
        column = pc.if_else(missing, pa.scalar(None, pa.string()), column)
    return column


def _plain(value: Any) -> Any:
    """Nested Python values as JSON has them: maps with text for keys, and lists."""
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items() if item is not None}
        case list() | tuple():
            # Arrow gives a map as a list of pairs.
            if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
                return {str(key): _plain(item) for key, item in value}
            return [_plain(item) for item in value]
        case UUID():
            return str(value)
        case _:
            return value


def _line(error: BaseException) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:300]


# -- Avro ---------------------------------------------------------------------------------------------------------

_AVRO = {
    "int": types.INTEGER, "long": types.INTEGER, "float": types.FLOAT, "double": types.FLOAT,
    "boolean": types.BOOLEAN, "string": types.VARCHAR, "enum": types.VARCHAR, "bytes": types.BINARY,
    "fixed": types.BINARY, "null": types.VARCHAR,
}  # fmt: skip
_LOGICAL = {
    "date": types.DATE, "time-millis": types.TIME, "time-micros": types.TIME, "uuid": types.VARCHAR,
    "timestamp-millis": types.TIMESTAMP_LTZ, "timestamp-micros": types.TIMESTAMP_LTZ,
    "local-timestamp-millis": types.TIMESTAMP_NTZ, "local-timestamp-micros": types.TIMESTAMP_NTZ,
}  # fmt: skip


class AvroStream:
    """The records of one Avro file; fields without a plain type are JSON text."""

    def __init__(self, source: Any, format: FileFormat) -> None:
        self._format = format
        try:
            self._reader = fastavro.reader(io.BufferedReader(_Raw(source), 1 << 20))
        except Exception as error:
            raise corrupted(f"not an Avro file: {_line(error)}") from None
        schema: Any = self._reader.writer_schema
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise UnreadableError(errors.unsupported("an Avro file whose values are not records"))
        self.fields = tuple(SourceField(entry["name"], _avro_type(entry["type"])) for entry in schema["fields"])

    def segments(self) -> Iterator[Segment]:
        row = 1
        rows: list[Any] = []
        while True:
            try:
                record = next(self._reader, None)
            except Exception as error:
                raise corrupted(f"the Avro file is damaged: {_line(error)}") from None
            if record is None:
                break
            rows.append(record)
            if len(rows) == _ROWS:
                yield self._segment(rows, row)
                row += len(rows)
                rows = []
        if rows:
            yield self._segment(rows, row)

    def _segment(self, records: Sequence[Any], first: int) -> Segment:
        columns = [
            _cleaned(_avro_column([record[entry.name] for record in records], entry.type), entry.type, self._format)
            for entry in self.fields
        ]
        data = pa.table(columns, names=[nth(index) for index in range(len(columns))])
        return Segment(data, range(first, first + len(records)), len(records), bytes=data.nbytes)


def _avro_type(schema: Any) -> DataType:
    if isinstance(schema, list):
        rest = [item for item in schema if item != "null"]
        return _avro_type(rest[0]) if len(rest) == 1 else types.VARIANT
    if isinstance(schema, str):
        return _AVRO.get(schema, types.VARIANT)
    logical = schema.get("logicalType")
    if logical == "decimal":
        return types.number(min(schema["precision"], types.MAX_PRECISION), schema.get("scale", 0))
    return _LOGICAL.get(logical) or _AVRO.get(schema["type"], types.VARIANT)


def _avro_column(values: list[Any], type_: DataType) -> Any:
    if type_.kind is Kind.VARIANT:
        return pa.array([None if item is None else to_json(_plain(item)) for item in values], pa.string())
    if type_.kind is Kind.NUMBER and not type_.int64:
        return pa.array(values, pa.decimal128(type_.precision, type_.scale))
    wanted = pa.int64() if type_.kind is Kind.NUMBER else _ARROW[type_.kind]
    return pa.array([_avro_value(item) for item in values], wanted)


def _avro_value(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


class _Raw(io.RawIOBase):
    """A reading function as a file."""

    def __init__(self, source: Any) -> None:
        self._read = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
