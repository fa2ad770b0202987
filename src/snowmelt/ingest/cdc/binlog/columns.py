"""The columns of a MariaDB or MySQL table, told as those of a PostgreSQL: what is there then holds for them too.

Only what has no counterpart there is cleaned here: dates and times, which Debezium writes as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

_NUMBERS = frozenset({"DECIMAL", "NUMERIC", "DEC", "FIXED"})
_SAME_TYPES = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "YEAR", "BOOL", "BOOLEAN"), "INT8"
    ),
    **dict.fromkeys(("DOUBLE", "REAL"), "FLOAT8"),
    **dict.fromkeys(("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"), "BYTEA"),
    "FLOAT": "FLOAT4", "BIT": "BIT", "JSON": "JSON", "UUID": "UUID",
    "DATE": "DATE", "DATETIME": "TIMESTAMP", "TIMESTAMP": "TIMESTAMPTZ",
    # Of up to 838 hours, and negative too: no time of a day can hold that.
    "TIME": "INTERVAL",
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1)


def same_type(field: Mapping[str, Any], source_type: str, digits: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """What PostgreSQL calls such a type, and its digits before and behind the point; empty when nothing is like it."""
    base, *more = source_type.split() or [""]
    if base in _NUMBERS:
        return "NUMERIC", digits if digits[0] else (10, 0)
    if base == "BIGINT" and "UNSIGNED" in more:
        return "NUMERIC", (20, 0)
    text = "TEXT" if field.get("type") == "string" else ""
    return _SAME_TYPES.get(base, text), digits


def cleaner_of(field: Mapping[str, Any], source_type: str) -> Callable[[Any], Any] | None:
    """Where a value is not written as PostgreSQL's of the same type is."""
    if source_type in ("BOOL", "BOOLEAN"):
        # The same column as TINYINT(1), which is what it is called once it is there.
        return lambda value: int(value) if isinstance(value, bool) else value
    return _MEANINGS.get(str(field.get("name")))


def _number(convert: Callable[[int], str]) -> Callable[[Any], Any]:
    return lambda value: convert(int(value)) if isinstance(value, int | Decimal) else value


def _day(days: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def _moment(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat()


def _duration(microseconds: int) -> str:
    """A TIME as the source writes it: `-838:59:59.000001`."""
    seconds, fraction = divmod(abs(microseconds), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{hours:02d}:{minute:02d}:{second:02d}" + (f".{fraction:06d}".rstrip("0") if fraction else "")


_MEANINGS: Mapping[str, Callable[[Any], Any]] = {
    "io.debezium.time.Date": _number(_day),
    "io.debezium.time.Timestamp": _number(lambda milliseconds: _moment(milliseconds * 1000)),
    "io.debezium.time.MicroTimestamp": _number(_moment),
    "io.debezium.time.MicroTime": _number(_duration),
}
