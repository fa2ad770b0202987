"""Snowflake's data types, and how each is held in Spark and on disk.

Deliberate choices, explained in `docs/design/types.md`:

* NUMBER(p, s) is DECIMAL(p, s). The integer words (INT, BIGINT, …) mean NUMBER(38, 0) to a client but are held as a
  64-bit integer: `int64`. Joins and aggregates on keys are several times faster for it.
* TIME is Spark's TIME in queries and ISO text on disk, which sorts the same and which any Delta reader understands.
* TIMESTAMP_TZ is a struct of the instant and its offset in minutes; it compares by the instant.
* OBJECT and ARRAY are VARIANT values that are known to be an object or an array.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from snowmelt.core import collations, errors

MAX_PRECISION = 38
MAX_VARCHAR = 16_777_216
MAX_BINARY = 8_388_608

TZ_INSTANT = "INSTANT"
TZ_OFFSET = "OFFSET_MINUTES"

UNDEFINED = "\ufdd0"
"""Stands in an ARRAY for `undefined`, which is not a JSON null. Unicode reserves the character for use inside of
programs, so no document has such a text."""


class Kind(StrEnum):
    NUMBER = "NUMBER"
    FLOAT = "FLOAT"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    TIMESTAMP_TZ = "TIMESTAMP_TZ"
    VARIANT = "VARIANT"
    OBJECT = "OBJECT"
    ARRAY = "ARRAY"
    NULL = "NULL"
    """The type of a bare NULL: fits everywhere."""


TIMESTAMPS = frozenset({Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ})
SEMI_STRUCTURED = frozenset({Kind.VARIANT, Kind.OBJECT, Kind.ARRAY})


@dataclass(frozen=True, slots=True)
class DataType:
    kind: Kind
    precision: int | None = None
    """Digits of a NUMBER, fractional digits of a TIME or TIMESTAMP."""
    scale: int | None = None
    length: int | None = None
    int64: bool = False
    """A NUMBER of scale 0 that is held as a 64-bit integer."""
    collation: str | None = None
    """The specification by which a VARCHAR is compared, as it was written; None compares code points."""

    @property
    def is_number(self) -> bool:
        return self.kind is Kind.NUMBER

    @property
    def is_numeric(self) -> bool:
        return self.kind in (Kind.NUMBER, Kind.FLOAT)

    @property
    def is_timestamp(self) -> bool:
        return self.kind in TIMESTAMPS

    @property
    def is_semi_structured(self) -> bool:
        return self.kind in SEMI_STRUCTURED

    @property
    def has_key(self) -> bool:
        """Whether equal values may look different, so that rows are gathered by something that stands for them."""
        return self.is_semi_structured or self.kind is Kind.TIMESTAMP_TZ or self.is_collated

    @property
    def is_collated(self) -> bool:
        """Whether texts are compared by something other than their code points."""
        return self.collation is not None and not collations.parse(self.collation).is_plain

    def __str__(self) -> str:
        """The type as DESCRIBE prints it."""
        match self.kind:
            case Kind.NUMBER:
                return f"NUMBER({self.precision},{self.scale})"
            case Kind.VARCHAR | Kind.BINARY:
                return f"{self.kind}({self.length})" + (f" COLLATE '{self.collation}'" if self.collation else "")
            case Kind.TIME | Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ | Kind.TIMESTAMP_TZ:
                return f"{self.kind}({self.precision})"
            case Kind.NULL:
                return "VARCHAR(16777216)"
            case _:
                return str(self.kind)

    @property
    def spark(self) -> str:
        """The Spark SQL type of a value of this type inside a query."""
        match self.kind:
            case Kind.NUMBER:
                return "BIGINT" if self.int64 else f"DECIMAL({self.precision}, {self.scale})"
            case Kind.TIMESTAMP_TZ:
                return f"STRUCT<{TZ_INSTANT}: TIMESTAMP, {TZ_OFFSET}: INT>"
            case _:
                return _SPARK[self.kind]

    @property
    def stored(self) -> str:
        """The Spark SQL type of the column on disk."""
        return "STRING" if self.kind is Kind.TIME else self.spark


_SPARK = {
    Kind.FLOAT: "DOUBLE",
    Kind.VARCHAR: "STRING",
    Kind.BINARY: "BINARY",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME(6)",
    Kind.TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
    Kind.TIMESTAMP_LTZ: "TIMESTAMP",
    Kind.VARIANT: "VARIANT",
    Kind.OBJECT: "VARIANT",
    Kind.ARRAY: "VARIANT",
    Kind.NULL: "VOID",
}


def with_collation(type_: DataType | None, specification: str) -> DataType | None:
    """The text type with a collation; '' is none. An error for other types, and for what is no specification."""
    if type_ is None:
        return None
    if type_.kind is not Kind.VARCHAR:
        raise errors.compilation("002320", "22023", f"Collation is not supported for the data type {type_}")
    collations.parse(specification)
    return replace(type_, collation=specification.strip() or None)


def number(precision: int = MAX_PRECISION, scale: int = 0) -> DataType:
    return DataType(Kind.NUMBER, precision=precision, scale=scale)


def int64(precision: int = MAX_PRECISION) -> DataType:
    return DataType(Kind.NUMBER, precision=precision, scale=0, int64=True)


def varchar(length: int = MAX_VARCHAR) -> DataType:
    return DataType(Kind.VARCHAR, length=length)


def binary(length: int = MAX_BINARY) -> DataType:
    return DataType(Kind.BINARY, length=length)


INTEGER = int64()
FLOAT = DataType(Kind.FLOAT)
VARCHAR = varchar()
BINARY = binary()
BOOLEAN = DataType(Kind.BOOLEAN)
DATE = DataType(Kind.DATE)
TIME = DataType(Kind.TIME, precision=9)
TIMESTAMP_NTZ = DataType(Kind.TIMESTAMP_NTZ, precision=9)
TIMESTAMP_LTZ = DataType(Kind.TIMESTAMP_LTZ, precision=9)
TIMESTAMP_TZ = DataType(Kind.TIMESTAMP_TZ, precision=9)
VARIANT = DataType(Kind.VARIANT)
OBJECT = DataType(Kind.OBJECT)
ARRAY = DataType(Kind.ARRAY)
NULL = DataType(Kind.NULL)

_INTEGER_WORDS = {"INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BYTEINT"}
_NUMBER_WORDS = {"NUMBER", "DECIMAL", "DEC", "NUMERIC"}
_TEXT_WORDS = {"VARCHAR", "STRING", "TEXT", "NVARCHAR", "NVARCHAR2", "CHAR VARYING", "NCHAR VARYING"}
_ONE_CHARACTER_WORDS = {"CHAR", "CHARACTER", "NCHAR"}
_FIXED = {
    "FLOAT": FLOAT, "FLOAT4": FLOAT, "FLOAT8": FLOAT, "DOUBLE": FLOAT, "DOUBLE PRECISION": FLOAT, "REAL": FLOAT,
    "BOOLEAN": BOOLEAN, "DATE": DATE, "VARIANT": VARIANT, "OBJECT": OBJECT, "ARRAY": ARRAY,
}  # fmt: skip
_WITH_FRACTION = {
    "TIME": TIME, "DATETIME": TIMESTAMP_NTZ, "TIMESTAMP": TIMESTAMP_NTZ, "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ, "TIMESTAMP WITHOUT TIME ZONE": TIMESTAMP_NTZ, "TIMESTAMP_LTZ": TIMESTAMP_LTZ,
    "TIMESTAMPLTZ": TIMESTAMP_LTZ, "TIMESTAMP WITH LOCAL TIME ZONE": TIMESTAMP_LTZ, "TIMESTAMP_TZ": TIMESTAMP_TZ,
    "TIMESTAMPTZ": TIMESTAMP_TZ, "TIMESTAMP WITH TIME ZONE": TIMESTAMP_TZ,
}  # fmt: skip
_BINARY_WORDS = {"BINARY", "VARBINARY"}
TYPE_WORDS = tuple(
    sorted(
        {*_INTEGER_WORDS, *_NUMBER_WORDS, *_TEXT_WORDS, *_ONE_CHARACTER_WORDS, *_BINARY_WORDS, *_FIXED, *_WITH_FRACTION}
    )
)
"""Every word that names a type."""
_COLLATED = re.compile(r"(.*)\sCOLLATE\s+'([^']*)'\Z", re.IGNORECASE | re.DOTALL)
_TYPE = re.compile(r"([A-Za-z_][A-Za-z0-9_ ]*)(?:\(\s*(\d+)\s*+(?:,\s*(\d+)\s*+)?\))?\Z")


def parse_type(text: str) -> DataType | None:
    """The type that Snowflake's DDL words name, such as `number(10, 2)` or `timestamp_ntz`; None if there is none.

    Out-of-range precision, scale or length also gives None: the caller knows where in the statement it stood.
    """
    collated = _COLLATED.match(text.strip())
    if collated is not None:
        return with_collation(parse_type(collated[1]), collated[2])
    match = _TYPE.match(text.strip())
    if match is None:
        return None
    word = " ".join(match[1].split()).upper()
    first = int(match[2]) if match[2] else None
    second = int(match[3]) if match[3] else None
    if word in _INTEGER_WORDS:
        return INTEGER if first is None else None
    if word in _NUMBER_WORDS:
        precision, scale = first if first is not None else MAX_PRECISION, second or 0
        valid = 1 <= precision <= MAX_PRECISION and scale <= min(precision, 37)
        return number(precision, scale) if valid else None
    if second is not None:
        return None
    if word in _TEXT_WORDS or word in _ONE_CHARACTER_WORDS:
        length = first if first is not None else (1 if word in _ONE_CHARACTER_WORDS else MAX_VARCHAR)
        return varchar(length) if 1 <= length <= 8 * MAX_VARCHAR else None
    if word in _BINARY_WORDS:
        length = first if first is not None else MAX_BINARY
        return binary(length) if 1 <= length <= 8 * MAX_BINARY else None
    if word in _WITH_FRACTION:
        digits = 9 if first is None else first
        return replace(_WITH_FRACTION[word], precision=digits) if digits <= 9 else None
    return _FIXED.get(word) if first is None else None
