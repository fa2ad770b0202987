"""Columns and kinds of statements in the words of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from snowmelt.core.types import MAX_VARCHAR, DataType, Kind
from snowmelt.runtime.results import ResultColumn

_NAMES = {
    Kind.NUMBER: "fixed", Kind.FLOAT: "real", Kind.VARCHAR: "text", Kind.BINARY: "binary", Kind.BOOLEAN: "boolean",
    Kind.DATE: "date", Kind.TIME: "time", Kind.TIMESTAMP_NTZ: "timestamp_ntz", Kind.TIMESTAMP_LTZ: "timestamp_ltz",
    Kind.TIMESTAMP_TZ: "timestamp_tz", Kind.VARIANT: "variant", Kind.OBJECT: "object", Kind.ARRAY: "array",
    Kind.NULL: "text",
}  # fmt: skip
_BYTES_OF_CHARACTER = 4
_KNOWN = 4_096


def type_name(type_: DataType) -> str:
    return _NAMES[type_.kind]


def fraction_digits(type_: DataType) -> int:
    """The digits of fractional seconds of a TIME or TIMESTAMP."""
    return 9 if type_.precision is None else type_.precision


def in_named_units(columns: tuple[ResultColumn, ...]) -> tuple[ResultColumn, ...]:
    """The columns, with as many digits of a second as the next unit that has a name, from seconds to nanoseconds."""
    return tuple(replace(column, type=_in_named_unit(column.type)) for column in columns)


def _in_named_unit(type_: DataType) -> DataType:
    if not (type_.is_timestamp or type_.kind is Kind.TIME):
        return type_
    digits = -(-fraction_digits(type_) // 3) * 3
    # A TIMESTAMP_TZ without a field for its fraction is taken for seconds, whatever its scale.
    return replace(type_, precision=6 if digits == 3 and type_.kind is Kind.TIMESTAMP_TZ else digits)


@lru_cache(_KNOWN)
def row_type(column: ResultColumn) -> Mapping[str, Any]:
    """One entry of `rowtype`. It is shared: nobody may change it."""
    type_ = column.type
    entry: dict[str, Any] = {
        "name": column.name, "database": "", "schema": "", "table": "", "type": type_name(type_),
        "nullable": column.nullable, "length": None, "byteLength": None, "precision": None, "scale": None,
        "collation": None,
    }  # fmt: skip
    match type_.kind:
        case Kind.NUMBER:
            entry |= {"precision": type_.precision or 38, "scale": type_.scale or 0}
        case Kind.VARCHAR | Kind.NULL:
            length = type_.length or MAX_VARCHAR
            octets = min(length * _BYTES_OF_CHARACTER, max(length, MAX_VARCHAR))
            entry |= {"length": length, "byteLength": octets, "collation": type_.collation}
        case Kind.BINARY:
            entry |= {"length": type_.length, "byteLength": type_.length}
        case Kind.TIME | Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ | Kind.TIMESTAMP_TZ:
            entry |= {"precision": 0, "scale": fraction_digits(type_)}
    return entry


_SELECT, _DML, _SESSION, _TRANSACTION, _DDL, _FILES = 0x1000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000
MULTIPLE = 0xA000
_STATEMENTS = {
    "SELECT": _SELECT, "EXPLAIN": _SELECT, "CALL": _SELECT, "INSERT": _DML + 0x100, "UPDATE": _DML + 0x200,
    "DELETE": _DML + 0x300, "MERGE": _DML + 0x400, "COPY": _DML + 0x600, "UNLOAD": _DML + 0x700,
    "TRUNCATE_TABLE": _DDL, "BEGIN_TRANSACTION": _TRANSACTION, "COMMIT": _TRANSACTION, "ROLLBACK": _TRANSACTION,
    "SHOW": _SESSION, "DESCRIBE": _SESSION, "USE": _SESSION + 0x100, "SET": _SESSION + 0x200,
    "ALTER_SESSION": _SESSION + 0x300, "UNSET": _SESSION + 0x400, "PUT_FILES": _FILES + 0x100,
    "GET_FILES": _FILES + 0x200, "LIST_FILES": _FILES + 0x300, "REMOVE_FILES": _FILES + 0x400,
}  # fmt: skip
_ROWS = frozenset({"SELECT"})


def statement_type_id(query_type: str) -> int:
    """The number by which clients tell kinds of statements apart; DDL where nothing else is known."""
    return _STATEMENTS.get(query_type, _DDL)


def may_be_arrow(query_type: str) -> bool:
    """Clients expect everything but rows of queries as JSON."""
    return query_type in _ROWS
