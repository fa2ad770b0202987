"""Spark's types, as far as the quick lane has them, and the same types in DuckDB and in Arrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET

MAX_PRECISION = 38
_NESTED = ("struct", "array", "map")


class NotQuick(Exception):  # noqa: N818 - it is an answer, not a failure
    """Something in the query is not on the lane's list: Spark computes it. The text says what."""


@dataclass(frozen=True, slots=True)
class SparkType:
    name: str
    precision: int = 0
    scale: int = 0
    parts: tuple[tuple[str, SparkType], ...] = ()
    """Of a struct its fields, of an array its element, of a map its entries."""

    @property
    def is_integer(self) -> bool:
        return self.name in ("int", "bigint")

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_exact_number(self) -> bool:
        return self.is_integer or self.is_decimal

    @property
    def duck(self) -> str:
        if self.is_decimal:
            return f"DECIMAL({self.precision},{self.scale})"
        if self.name == "struct":
            return "STRUCT(" + ", ".join(f'"{name}" {type_.duck}' for name, type_ in self.parts) + ")"
        return f"{self.element.duck}[]" if self.name in ("array", "map") else _DUCK[self.name]

    @property
    def element(self) -> SparkType:
        """The type of an array's elements. A map is the array of its entries."""
        return self.parts[0][1]

    @property
    def fields(self) -> dict[str, SparkType]:
        """The fields of a struct."""
        return dict(self.parts) if self.name == "struct" else {}

    @property
    def ddl(self) -> str:
        """The type as Spark SQL writes it."""
        if self.name == "time":
            return "TIME(6)"
        return f"DECIMAL({self.precision}, {self.scale})" if self.is_decimal else self.name.upper()

    @property
    def arrow(self) -> pa.DataType:
        if self.name in _NESTED:
            raise NotQuick(f"a result of type {self.name}")
        return pa.decimal128(self.precision, self.scale) if self.is_decimal else _ARROW[self.name]

    @property
    def can_be_key(self) -> bool:
        """Whether equal values are one value in both engines: as keys of groups and joins, and without duplicates."""
        return self.name not in ("double", "timestamp_tz", "variant", *_NESTED)

    @property
    def has_order(self) -> bool:
        return self.name not in ("timestamp_tz", "variant", *_NESTED)


def decimal(precision: int, scale: int) -> SparkType:
    """Bounded as Spark bounds it when it must not lose digits."""
    return SparkType("decimal", min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


VOID = SparkType("void")
BOOLEAN = SparkType("boolean")
INT = SparkType("int")
BIGINT = SparkType("bigint")
DOUBLE = SparkType("double")
STRING = SparkType("string")
BINARY = SparkType("binary")
DATE = SparkType("date")
TIMESTAMP = SparkType("timestamp")
TIMESTAMP_NTZ = SparkType("timestamp_ntz")
TIMESTAMP_TZ = SparkType("timestamp_tz")
"""Snowflake's, which is a struct of the instant and its offset."""
TIME = SparkType("time")
VARIANT = SparkType("variant")


def array_of(element: SparkType) -> SparkType:
    return SparkType("array", parts=(("element", element),))


def struct_of(fields: Sequence[tuple[str, SparkType]]) -> SparkType:
    if len(dict(fields)) != len(fields) or any('"' in name for name, _ in fields):
        raise NotQuick("fields of these names")
    return SparkType("struct", parts=tuple(fields))


ENTRY = struct_of((("key", STRING), ("value", VARIANT)))
MAP = SparkType("map", parts=(("element", ENTRY),))
"""From texts to VARIANTs, the only one there is."""

_DUCK = {
    "void": "INTEGER", "boolean": "BOOLEAN", "int": "INTEGER", "bigint": "BIGINT", "double": "DOUBLE",
    "string": "VARCHAR", "binary": "BLOB", "date": "DATE", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
    "time": "TIME",
    "timestamp_tz": f'STRUCT("{TZ_INSTANT}" TIMESTAMPTZ, "{TZ_OFFSET}" INTEGER)',
    "variant": 'STRUCT("metadata" BLOB, "value" BLOB)',
}  # fmt: skip
_ARROW: dict[str, pa.DataType] = {
    "void": pa.null(), "boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(),
    "string": pa.string(), "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"), "time": pa.time64("ns"),
    "timestamp_tz": pa.struct([pa.field(TZ_INSTANT, pa.timestamp("us", tz="UTC")), pa.field(TZ_OFFSET, pa.int32())]),
    "variant": pa.struct([
        pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False),
    ]),
}  # fmt: skip
_NAMED = {
    "BOOLEAN": BOOLEAN, "INT": INT, "INTEGER": INT, "BIGINT": BIGINT, "LONG": BIGINT, "DOUBLE": DOUBLE,
    "STRING": STRING, "BINARY": BINARY, "DATE": DATE, "TIMESTAMP": TIMESTAMP, "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
    "VARIANT": VARIANT, "VOID": VOID, "TIME(6)": TIME,
    f"STRUCT<{TZ_INSTANT}: TIMESTAMP, {TZ_OFFSET}: INT>".upper(): TIMESTAMP_TZ,
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")


@lru_cache(1024)
def named(text: str) -> SparkType:
    """The type that Spark SQL writes so."""
    found = _DECIMAL.fullmatch(text.upper())
    if found is not None:
        return decimal(int(found[1]), int(found[2]))
    try:
        return _NAMED[text.upper()]
    except KeyError:
        raise NotQuick(f"type {text}") from None


_NODES = {
    exp.DType.BOOLEAN: BOOLEAN, exp.DType.INT: INT, exp.DType.BIGINT: BIGINT, exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING, exp.DType.BINARY: BINARY, exp.DType.DATE: DATE, exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP, exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ, exp.DType.VARIANT: VARIANT,
}  # fmt: skip


def of_node(node: exp.Expr | None) -> SparkType:
    """The type that a CAST names."""
    assert isinstance(node, exp.DataType)
    kind = node.this
    if kind is exp.DType.DECIMAL:
        digits = [int(part.name) for part in node.expressions]
        return decimal(*digits) if len(digits) == 2 else decimal(digits[0] if digits else 10, 0)
    if kind is exp.DType.TIME and [part.name for part in node.expressions] in ([], ["6"]):
        return TIME
    found = _NODES.get(kind) if not node.expressions else None
    if found is None:
        raise NotQuick(f"cast to {node.sql('spark')}")
    return found


_OF_ARROW: tuple[tuple[Callable[[pa.DataType], bool], SparkType], ...] = (
    (pa.types.is_int64, BIGINT), (pa.types.is_int32, INT), (pa.types.is_boolean, BOOLEAN),
    (pa.types.is_float64, DOUBLE), (pa.types.is_string, STRING), (pa.types.is_large_string, STRING),
    (pa.types.is_binary, BINARY), (pa.types.is_large_binary, BINARY), (pa.types.is_date32, DATE),
    (pa.types.is_null, VOID), (pa.types.is_time64, TIME),
)  # fmt: skip


@lru_cache(1024)
def of_arrow(type_: pa.DataType) -> SparkType:
    """Spark's type of values that are given as Arrow's."""
    if pa.types.is_decimal128(type_) and type_.scale >= 0:
        return decimal(type_.precision, type_.scale)
    if pa.types.is_timestamp(type_) and type_.unit == "us":
        return TIMESTAMP_NTZ if type_.tz is None else TIMESTAMP
    if pa.types.is_struct(type_):
        names = [field.name for field in type_]
        if names == [TZ_INSTANT, TZ_OFFSET]:
            return TIMESTAMP_TZ
        if sorted(names) == ["metadata", "value"]:
            return VARIANT
    for test, found in _OF_ARROW:
        if test(type_):
            return found
    raise NotQuick(f"Arrow type {type_}")
