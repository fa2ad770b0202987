"""How a column of PostgreSQL is asked for, so that its values are those which Debezium's envelopes would bring.

A mirror has typed columns: where `column_sql` is given, the server sends what only has to be cast. A raw table has
documents: `document_sql` with `clean` gives the value of an envelope's field after `Shape.cleaned`. A type that has no
`column_sql` takes that way for mirrors too, so that both meanings are the same by construction.

Expressions are written for a session in UTC whose dates are in the ISO style.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.ingest.cdc.shapes import clean_document, clean_number, numeric_type

_SECOND_DIGITS = 6
_FAR_YEAR = re.compile(r"\d{5,}-")
_USUAL_DATE = r"^\d{4}-\d\d-\d\d$"
_USUAL_STAMP = r"^\d{4}-\d\d-\d\dT[0-9:.]+$"
_USUAL_INSTANT = r"^\d{4}-\d\d-\d\dT[0-9:.]+Z$"


@dataclass(frozen=True, slots=True)
class AskedColumn:
    """`{0}` in the expressions stands for the column."""

    type: DataType
    source_type: str
    """As Debezium calls it."""
    document_sql: str
    clean: Callable[[Any], Any] | None = None
    column_sql: str | None = None
    usual: str | None = None
    """A regular expression for texts that the server sends as documents have them: `clean` is for the others."""

    def document(self, column: str) -> str:
        return self.document_sql.format(column)

    def column(self, column: str) -> str | None:
        return None if self.column_sql is None else self.column_sql.format(column)


@dataclass(frozen=True, slots=True)
class PostgresType:
    """A column's type as pg_type has it."""

    name: str
    kind: str
    """`b` for a base type, `r` for a range, `e` for an enumeration; others are not read here."""
    modifier: int
    """-1 when the column says no length or precision."""
    element: str | None
    """Of an array, the name of what it holds."""


def asked(source: PostgresType) -> AskedColumn | None:
    """None for a type that only Debezium reads."""
    if source.kind == "e":
        return _same(types.VARCHAR, source.name.upper(), "{0}::text")
    if source.kind not in ("b", "r"):
        return None
    if source.element is not None:
        return _array(source, source.element)
    if source.name in _SIMPLE:
        return _SIMPLE[source.name]
    modified = _MODIFIED.get(source.name)
    return modified(source.modifier) if modified is not None else None


# -- types ------------------------------------------------------------------------------------------------------------


def _same(type_: DataType, source_type: str, sql: str) -> AskedColumn:
    """The document has what the column has."""
    return AskedColumn(type_, source_type, sql, column_sql=sql)


def _as_printed(source_type: str) -> AskedColumn:
    """The text as the server prints it. A cast differs: it adds the mask to an address."""
    return _same(types.VARCHAR, source_type, "CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END")


def _within(literal: str, zone: str = "") -> str:
    """What lies beyond the years 1 to 9999, an infinity included, is the first or the last there is."""
    last = "9999-12-31" if literal == "DATE" else f"9999-12-31 23:59:59.999999{zone}"
    first = "0001-01-01" if literal == "DATE" else f"0001-01-01 00:00:00{zone}"
    return (
        f"CASE WHEN {{0}} < {literal} '{first}' THEN {literal} '{first}'"
        f" WHEN {{0}} > {literal} '{last}' THEN {literal} '{last}' ELSE {{0}} END"
    )


def _number(modifier: int) -> AskedColumn | None:
    """The modifier holds precision and scale, of which the latter may be negative."""
    precision, scale = ((modifier - 4) >> 16) & 0xFFFF, ((modifier - 4) & 0x7FF ^ 1024) - 1024
    if modifier < 0:
        precision = scale = 0
    if scale < 0 or scale > precision:
        return None
    type_ = numeric_type(precision, scale)
    # A NUMBER has no NaN; text has.
    column = "{0}::text" if type_ == types.VARCHAR else "NULLIF({0}, 'NaN')::text"
    return AskedColumn(type_, "NUMERIC", "{0}::text", clean_number, column)


def _timestamp(_: int) -> AskedColumn:
    document = "replace({0}::text, ' ', 'T')"
    return AskedColumn(types.TIMESTAMP_NTZ, "TIMESTAMP", document, _calendar, _within("TIMESTAMP"), _USUAL_STAMP)


def _instant(modifier: int) -> AskedColumn:
    digits = modifier if modifier >= 0 else _SECOND_DIGITS
    fraction = f".FF{digits}" if digits else ""
    document = (
        "CASE WHEN {0} >= TIMESTAMPTZ '0001-01-01 00:00:00+00' AND {0} < TIMESTAMPTZ '10000-01-01 00:00:00+00'"
        f' THEN to_char({{0}}, \'YYYY-MM-DD"T"HH24:MI:SS{fraction}"Z"\') ELSE {{0}}::text END'
    )
    within = _within("TIMESTAMPTZ", "+00")
    return AskedColumn(
        types.TIMESTAMP_LTZ, "TIMESTAMPTZ", document, lambda text: _zoned(text, digits), within, _USUAL_INSTANT
    )


def _bits(modifier: int) -> AskedColumn:
    if modifier == 1:
        return _same(types.BOOLEAN, "BIT", "({0} = B'1')")
    return _same(types.VARCHAR, "BIT", "{0}::text")


_INTERVAL = (
    "CASE WHEN {0} IS NOT NULL THEN format('P%sY%sM%sDT%sH%sM%sS', extract(year FROM {0}), extract(month FROM {0}),"
    " extract(day FROM {0}), extract(hour FROM {0}), extract(minute FROM {0}),"
    " trim_scale(extract(second FROM {0})::numeric)) END"
)
_VARYING_BITS = "CASE WHEN {0} IS NOT NULL THEN coalesce(nullif(ltrim({0}::text, '0'), ''), '0') END"
"""Without zeros in front, since Debezium does not say how many there are."""
_TIME = "CASE WHEN {0} = TIME '24:00' THEN '00:00:00' ELSE {0}::text END"


# -- values -----------------------------------------------------------------------------------------------------------


def _double(value: float) -> Any:
    """A double as the number that its text in JSON is."""
    if math.isfinite(value):
        return Decimal(repr(value))
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _single(text: str) -> Any:
    return text if text in ("NaN", "Infinity", "-Infinity") else Decimal(text)


def _calendar(text: str) -> str:
    """A date or timestamp of PostgreSQL in the form of ISO 8601, whose years have a sign beyond 9999 and before 1."""
    text = text.replace(" ", "T")
    if text.endswith("TBC"):
        year, _, rest = text.removesuffix("TBC").partition("-")
        before = int(year) - 1
        text = f"{'-' if before else ''}{before:04d}-{rest}"
    elif _FAR_YEAR.match(text) is not None:
        text = f"+{text}"
    return text


def _zoned(text: str, digits: int) -> str:
    """With as many digits of a second as the column has."""
    if text.endswith(("infinity", "Z")):
        return text
    era = " BC" if text.endswith(" BC") else ""
    whole, _, fraction = _calendar(text.removesuffix(era).removesuffix("+00") + era).partition(".")
    return f"{whole}.{fraction.ljust(digits, '0')}Z" if digits else f"{whole}Z"


def _binary(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _point(text: str) -> dict[str, Any]:
    """As Debezium tells a point: its parts, and both in the binary form of geometries."""
    x, y = (float(part) for part in text.strip("()").split(","))
    content = struct.pack("<BIdd", 1, 1, x, y)
    return {"x": _double(x), "y": _double(y), "wkb": _binary(content), "srid": None}


_SIMPLE: dict[str, AskedColumn] = {
    **{name: _same(types.INTEGER, name.upper(), "{0}") for name in ("int2", "int4", "int8")},
    "oid": _same(types.INTEGER, "OID", "{0}::bigint"),
    "bool": _same(types.BOOLEAN, "BOOL", "{0}"),
    "money": AskedColumn(types.number(19, 2), "MONEY", "{0}::numeric::text", clean_number),
    "float4": AskedColumn(types.FLOAT, "FLOAT4", "{0}::text", _single, "{0}::text::float8"),
    "float8": AskedColumn(types.FLOAT, "FLOAT8", "{0}", _double, "{0}"),
    "date": AskedColumn(types.DATE, "DATE", "{0}::text", _calendar, _within("DATE"), _USUAL_DATE),
    "time": _same(types.TIME, "TIME", _TIME),
    "timetz": _same(types.VARCHAR, "TIMETZ", "({0} AT TIME ZONE 'UTC')::time::text || 'Z'"),
    "interval": _same(types.VARCHAR, "INTERVAL", _INTERVAL),
    **{name: _same(types.VARCHAR, name.upper(), "{0}") for name in ("text", "varchar", "bpchar")},
    "name": _same(types.VARCHAR, "NAME", "{0}::text"),
    "uuid": _same(types.varchar(36), "UUID", "{0}::text"),
    "bytea": AskedColumn(types.BINARY, "BYTEA", "{0}", _binary, "{0}"),
    "varbit": _same(types.VARCHAR, "VARBIT", _VARYING_BITS),
    **{
        name: _as_printed(name.upper())
        for name in ("inet", "cidr", "macaddr", "macaddr8", "int4range", "int8range", "numrange", "daterange",
                     "tsrange", "tstzrange", "tsvector")
    },
    "json": AskedColumn(types.VARIANT, "JSON", "{0}::text", clean_document),
    "jsonb": AskedColumn(types.VARIANT, "JSONB", "{0}::text", clean_document),
    "point": AskedColumn(types.VARIANT, "POINT", "{0}::text", _point),
}  # fmt: skip
_MODIFIED: dict[str, Callable[[int], AskedColumn | None]] = {
    "numeric": _number,
    "timestamp": _timestamp,
    "timestamptz": _instant,
    "bit": _bits,
}

_JSON_ELEMENTS = frozenset({"int2", "int4", "int8", "bool", "text", "varchar", "bpchar", "uuid"})
"""Types whose arrays have the same JSON here as from Debezium."""
_TEXT_ELEMENTS: dict[str, Callable[[str], Any]] = {
    "numeric": clean_number,
    "float4": _single,
    "float8": lambda text: _double(float(text)),
    "date": _calendar,
    "timestamp": _calendar,
}


def _array(source: PostgresType, element: str) -> AskedColumn | None:
    if element in _JSON_ELEMENTS:
        return AskedColumn(types.ARRAY, source.name.upper(), "to_json({0})::text", json.loads)
    if element == "timestamptz":
        digits = source.modifier if source.modifier >= 0 else _SECOND_DIGITS
        return _list(source, lambda text: _zoned(text, digits))
    clean = _TEXT_ELEMENTS.get(element)
    return _list(source, clean) if clean is not None else None


def _list(source: PostgresType, clean: Callable[[str], Any]) -> AskedColumn:
    def each(value: Any) -> Any:
        if isinstance(value, list):
            return [each(item) for item in value]
        return None if value is None else clean(value)

    return AskedColumn(
        types.ARRAY, source.name.upper(), "to_json({0}::text[])::text", lambda text: each(json.loads(text))
    )
