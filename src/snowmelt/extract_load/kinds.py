"""Types of values, as SQL writes them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import Any

NUMBERS = ("NUMBER", "DECIMAL", "NUMERIC", "INT", "INTEGER", "BIGINT", "SMALLINT")
FLOATS = ("FLOAT", "DOUBLE", "REAL")
TEXTS = ("VARCHAR", "TEXT", "STRING", "CHAR")
TRUE_WORDS = frozenset({"true", "t", "yes", "y", "on", "1"})
BOOLEAN_WORDS = TRUE_WORDS | {"false", "f", "no", "n", "off", "0"}

_EXACT = Context(prec=100)
"""More digits than any number that fits a type has."""


def type_of(value: Any) -> str:
    """The type of a value as JSON holds it, as SQL writes it. Text is text, whatever is written in it."""
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "NUMBER(38,0)"
        case float():
            return "FLOAT"
        case dict():
            return "OBJECT"
        case list():
            return "ARRAY"
    return "VARCHAR"


def type_head(sql_type: str) -> str:
    """NUMBER of number(12, 2)."""
    return sql_type.partition("(")[0].strip().upper()


def number_size(sql_type: str) -> tuple[int, int] | None:
    """Precision and scale, if the type says them."""
    sized = re.search(r"\((\d+)\s*(?:,\s*(\d+))?\)", sql_type)
    return (int(sized[1]), int(sized[2] or 0)) if sized else None


def length_of(sql_type: str) -> int | None:
    """How many characters a text may have, if the type says it."""
    sized = re.search(r"\((\d+)\)", sql_type)
    return int(sized[1]) if sized else None


def fits(value: Any, sql_type: str) -> bool:
    """Whether a value as JSON holds it, or as text of a CSV, can become that type without loss."""
    check = _CHECKS.get(type_head(sql_type))
    return check is None or check(value, sql_type)


def _is_number(value: Any, sql_type: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return False
    precision, scale = number_size(sql_type) or (38, 0)
    if not number.is_finite() or number.copy_abs() >= Decimal(10) ** (precision - scale):
        return False
    return number == number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)


def _is_float(value: Any, _: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_boolean(value: Any, _: str) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in BOOLEAN_WORDS)


def is_time(value: Any, sql_type: str) -> bool:
    if not isinstance(value, str):
        return False
    head = type_head(sql_type)
    try:
        if head == "DATE":
            dt.date.fromisoformat(value)
            return True
        if head == "TIME":
            dt.time.fromisoformat(value)
            return True
        read = dt.datetime.fromisoformat(value)
    except ValueError:
        return False
    return read.tzinfo is None or head != "TIMESTAMP_NTZ"


def _is_text(value: Any, sql_type: str) -> bool:
    if isinstance(value, dict | list):
        return False
    length = length_of(sql_type)
    return length is None or len(str(value)) <= length


_TIMES = ("DATE", "TIME", "DATETIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ")
_CHECKS: dict[str, Callable[[Any, str], bool]] = {
    **dict.fromkeys(NUMBERS, _is_number),
    **dict.fromkeys(FLOATS, _is_float),
    **dict.fromkeys(_TIMES, is_time),
    **dict.fromkeys(TEXTS, _is_text),
    "BOOLEAN": _is_boolean,
    "ARRAY": lambda value, _: isinstance(value, list),
    "OBJECT": lambda value, _: isinstance(value, dict),
}  # fmt: skip
