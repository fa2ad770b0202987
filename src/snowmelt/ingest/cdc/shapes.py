"""The columns of a source's table: their types here, and their values as they should be.

Debezium says with every shape what the source calls its types (`column.propagate.source.type`). Values come as JSON;
`CapturedShape.cleaned` makes of them what a reader expects: numbers as numbers, JSON as JSON, dates without a zone.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.ingest.cdc.binlog.columns import cleaner_of, same_type
from snowmelt.ingest.cdc.envelope import UNAVAILABLE, is_unavailable

_PARAMETER = "__debezium.source.column."
_POSTGRES, _MARIADB = "postgresql", "mariadb"
"""Parts of the names that Debezium gives its sources."""
_MAX_DIGITS = 38
_INTEGERS = frozenset({"INT2", "INT4", "INT8", "OID", "SMALLSERIAL", "SERIAL", "BIGSERIAL"})
_JSON = frozenset({"JSON", "JSONB", "HSTORE"})
_BITS = frozenset({"BIT", "VARBIT"})
_BASE_TYPES = {
    "BOOL": types.BOOLEAN, "FLOAT4": types.FLOAT, "FLOAT8": types.FLOAT, "DATE": types.DATE, "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP_NTZ, "TIMESTAMPTZ": types.TIMESTAMP_LTZ, "BYTEA": types.BINARY,
    "UUID": types.varchar(36), **dict.fromkeys(_INTEGERS, types.INTEGER), **dict.fromkeys(_JSON, types.VARIANT),
}  # fmt: skip
_CONNECT_TYPES = {
    "boolean": types.BOOLEAN, "int8": types.INTEGER, "int16": types.INTEGER, "int32": types.INTEGER,
    "int64": types.INTEGER, "float": types.FLOAT, "double": types.FLOAT, "string": types.VARCHAR,
    "bytes": types.BINARY, "array": types.ARRAY, "struct": types.VARIANT, "map": types.VARIANT,
}  # fmt: skip
_KNOWN_TEXT = frozenset({
    "TEXT", "VARCHAR", "BPCHAR", "CHAR", "NAME", "CITEXT", "INTERVAL", "TIMETZ", "XML", "INET", "CIDR", "MACADDR",
    "MACADDR8", "TSVECTOR", "TSQUERY", "LTREE", "INT4RANGE", "INT8RANGE", "NUMRANGE", "TSRANGE", "TSTZRANGE",
    "DATERANGE", "ISBN",
})  # fmt: skip
_NOT_FINITE = {
    "NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity", "NaN": "NaN",
    "Infinity": "Infinity", "-Infinity": "-Infinity",
}  # fmt: skip
_ENDLESS_YEARS = {"292278994": "infinity", "292269055": "-infinity", "294247": "infinity", "290308": "-infinity"}
"""Years as which Debezium writes the infinities of PostgreSQL's dates and timestamps without a zone."""
_ENDLESS_DATES = {"-5877611-06-21": "infinity", "-5877611-06-22": "-infinity"}
"""How it writes an infinity of dates that come from the log, where the number has overflowed."""
_FAR_YEAR = re.compile(r"([+-]?)(\d{4,9})-")

Cleaner = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class CapturedColumn:
    name: str
    """As the source spells it."""
    type: DataType
    source_type: str
    """As the source calls it, in capitals; empty when nobody said."""
    optional: bool
    clean: Cleaner | None
    default: Any = None
    """What rows have that were there before the column; None when nobody said."""

    @property
    def target_name(self) -> str:
        """What it is called here: as an unquoted name would be."""
        return folded(self.name)


@dataclass(frozen=True, slots=True)
class CapturedShape:
    """What the rows of a table look like from some change on."""

    table: str
    columns: tuple[CapturedColumn, ...]
    key: tuple[str, ...]

    def cleaned(self, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The row's values as JSON that says what they mean. What the source did not send stays marked as such."""
        if row is None:
            return None
        cleaned = dict(row)
        for column in self.columns:
            value = cleaned.get(column.name)
            if is_unavailable(value):
                cleaned[column.name] = UNAVAILABLE
            elif value is not None and column.clean is not None:
                cleaned[column.name] = column.clean(value)
        return cleaned

    def cleaned_and_known(self, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The same without fields that are not columns: no rule says whether they may be kept."""
        cleaned, known = self.cleaned(row), {column.name for column in self.columns}
        return None if cleaned is None else {name: value for name, value in cleaned.items() if name in known}


def folded(name: str) -> str:
    """A name of the source as Snowflake folds it, when it is one that PostgreSQL folded."""
    return name.upper() if name == name.lower() else name


def shape_of(table: str, key: Mapping[str, Any] | None, value: Mapping[str, Any]) -> CapturedShape | None:
    """The shape that a Connect schema of an envelope describes; None when it is no envelope of a table."""
    fields = {field.get("field"): field for field in value.get("fields", ())}
    row = fields.get("after") or fields.get("before")
    if row is None or row.get("type") != "struct":
        return None
    source = str((fields.get("source") or {}).get("name", _POSTGRES))
    columns = tuple(_column(field) if _POSTGRES in source else _binlog_column(field, source) for field in row["fields"])
    keys = tuple(field["field"] for field in key["fields"]) if key and key.get("type") == "struct" else ()
    return CapturedShape(table, columns, keys)


def _column(field: Mapping[str, Any]) -> CapturedColumn:
    return _described(field, _source_type(field), _digits(field), None)


def _binlog_column(field: Mapping[str, Any], source: str) -> CapturedColumn:
    source_type = _source_type(field)
    if source_type == "JSON" and _MARIADB in source:
        # What it is called once it is there.
        source_type = "LONGTEXT"
    same, digits = same_type(field, source_type, _digits(field))
    return _described(field, same, digits, cleaner_of(field, source_type))


def _described(
    field: Mapping[str, Any], source_type: str, digits: tuple[int, int], own: Cleaner | None
) -> CapturedColumn:
    clean = own or _cleaner(field, source_type)
    default = field.get("default")
    return CapturedColumn(
        name=field["field"],
        type=_type(field, source_type, digits),
        source_type=source_type,
        optional=bool(field.get("optional", True)),
        clean=clean,
        default=clean(default) if clean is not None and default is not None else default,
    )


def _source_type(field: Mapping[str, Any]) -> str:
    return str((field.get("parameters") or {}).get(f"{_PARAMETER}type", "")).upper()


def _digits(field: Mapping[str, Any]) -> tuple[int, int]:
    """The digits of a number, and those behind the point; zero where the source gives none."""
    parameters = field.get("parameters") or {}
    return int(parameters.get(f"{_PARAMETER}length", 0)), int(parameters.get(f"{_PARAMETER}scale", 0))


def _type(field: Mapping[str, Any], source_type: str, digits: tuple[int, int]) -> DataType:
    if source_type == "MONEY":
        return types.number(19, 2)
    if source_type == "NUMERIC":
        return numeric_type(*digits)
    if field.get("type") == "array":
        return types.ARRAY
    if source_type == "BIT" and field.get("type") == "boolean":
        return types.BOOLEAN
    if source_type in _BASE_TYPES:
        return _BASE_TYPES[source_type]
    if source_type in _BITS or source_type in _KNOWN_TEXT:
        return types.VARCHAR
    return _CONNECT_TYPES.get(str(field.get("type")), types.VARIANT)


def numeric_type(precision: int, scale: int) -> DataType:
    """NUMBER where the source says how many digits; text where it allows any number of them."""
    if not 1 <= precision <= _MAX_DIGITS or not 0 <= scale <= min(precision, 37):
        return types.VARCHAR
    return types.number(precision, scale)


# -- values -----------------------------------------------------------------------------------------------------------


def _cleaner(field: Mapping[str, Any], source_type: str) -> Cleaner | None:
    if field.get("type") == "array":
        items = dict(field.get("items") or {})
        inner = _cleaner({**items, "field": ""}, source_type.removeprefix("_"))
        return None if inner is None else lambda values: [None if item is None else inner(item) for item in values]
    if source_type in ("NUMERIC", "MONEY"):
        return clean_number
    if source_type in _JSON:
        return clean_document
    if source_type in ("DATE", "TIMESTAMP", "TIME"):
        return _calendar
    if source_type == "FLOAT4":
        return _single
    if source_type in _BITS and field.get("type") != "boolean":
        # Of bit varying it is the greatest length, and not that of the value.
        length = str((field.get("parameters") or {}).get("length", "")) if source_type == "BIT" else ""
        return lambda value: _bits(value, int(length) if length.isdigit() else 0)
    if source_type and field.get("type") == "string" and not field.get("name") and not _is_plain(source_type):
        # What Debezium does not know it hands over as the bytes of its text.
        return _unknown
    return None


def _is_plain(source_type: str) -> bool:
    return source_type in _KNOWN_TEXT or source_type in _BASE_TYPES


def clean_number(value: Any) -> Any:
    """A number that fits, or the text of one that does not."""
    if not isinstance(value, str):
        return value
    if value in _NOT_FINITE:
        return _NOT_FINITE[value]
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    return number if len(number.as_tuple().digits) <= _MAX_DIGITS else value


def _single(value: Any) -> Any:
    """The shortest number that is the same in 32 bits, as PostgreSQL writes it; Java writes more digits than it has."""
    if not isinstance(value, int | float | Decimal):
        return value
    exact = struct.pack("<f", value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next((Decimal(text) for text in texts if struct.pack("<f", float(text)) == exact), value)


def clean_document(value: Any) -> Any:
    try:
        return json.loads(value, parse_float=Decimal) if isinstance(value, str) else value
    except ValueError:
        return value


def _calendar(value: Any) -> Any:
    """Dates, times and timestamps that have no zone, without the Z that Debezium gives them."""
    if not isinstance(value, str):
        return value
    far = _FAR_YEAR.match(value)
    if far is not None and far[2] in _ENDLESS_YEARS:
        return _ENDLESS_YEARS[far[2]]
    plain = value.removesuffix("Z")
    return _ENDLESS_DATES.get(plain, plain)


def _bits(value: Any, length: int) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = int.from_bytes(base64.b64decode(value, validate=True), "little")
    except (binascii.Error, ValueError):
        return value
    return format(number, f"0{length}b" if 0 < length < 10_000_000 else "b")


def _unknown(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return value
