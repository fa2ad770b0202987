"""Whole columns held to a type of SQL: whether all of their values fit, and the column as that type.

Either says no where it is not sure; then values are judged one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.extract_load.columns import is_documents, text_of
from snowmelt.extract_load.kinds import (
    BOOLEAN_WORDS,
    FLOATS,
    NUMBERS,
    TEXTS,
    TRUE_WORDS,
    length_of,
    number_size,
    type_head,
)

_LOSSLESS = 38
"""Digits that Arrow's widest common decimal has."""
_INSTANTS = ("TIMESTAMP_TZ", "TIMESTAMP_LTZ")
_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_NTZ", "DATETIME")
_FIRST_DAY = -719162
"""0001-01-01, which is the first that Python has."""


def column_fits(column: Any, field: pa.Field, sql_type: str) -> bool:
    """Whether every value surely is of that type, as `fits` judges them one by one."""
    if column.null_count == len(column):
        return True
    head = type_head(sql_type)
    if head in NUMBERS or head in FLOATS or head == "BOOLEAN" or head in _CLOCKS:
        return not is_documents(field) and as_type(column, field, sql_type) is not None
    if head in TEXTS:
        return _is_text(column, field, sql_type)
    if head in ("ARRAY", "OBJECT"):
        return _holds(column, field, head)
    return True


def _is_text(column: Any, field: pa.Field, sql_type: str) -> bool:
    if is_documents(field) or pa.types.is_nested(field.type):
        return False
    length = length_of(sql_type)
    return length is None or (pa.types.is_string(field.type) and pc.max(pc.utf8_length(column)).as_py() <= length)


def _holds(column: Any, field: pa.Field, head: str) -> bool:
    if is_documents(field):
        start = r"^\s*\[" if head == "ARRAY" else r"^\s*\{"
        return bool(pc.all(pc.match_substring_regex(column, start)).as_py())
    return bool(pa.types.is_list(field.type) if head == "ARRAY" else pa.types.is_struct(field.type))


def as_type(column: Any, field: pa.Field, sql_type: str) -> Any | None:
    """The column as Arrow has that type; None where a value may not fit."""
    head = type_head(sql_type)
    convert = _NUMERIC.get(head) or _CLOCKS.get(head)
    if column.null_count == len(column):
        return pa.nulls(len(column), arrow_type(sql_type))
    if convert is None:
        return text_of(column, field) if arrow_type(sql_type) == pa.string() else None
    if is_documents(field):
        return None
    try:
        return convert(column, field, sql_type)
    except pa.ArrowException:
        return None


def arrow_type(sql_type: str) -> pa.DataType:
    head = type_head(sql_type)
    if head in NUMBERS:
        size = number_size(sql_type)
        return pa.decimal128(*size) if size is not None else pa.int64()
    return _ARROW.get(head, pa.string())


def _number(column: Any, field: pa.Field, sql_type: str) -> Any | None:
    kind = field.type
    precision, scale = number_size(sql_type) or (_LOSSLESS, 0)
    if pa.types.is_integer(kind):
        column = column.cast(pa.decimal128(_LOSSLESS, scale))
    elif not (pa.types.is_decimal(kind) or pa.types.is_string(kind)):
        # A binary fraction has no exact decimal: its text decides, value by value.
        return None
    return column.cast(pa.decimal128(precision, scale)).cast(arrow_type(sql_type))


def _float(column: Any, field: pa.Field, _: str) -> Any | None:
    kind = field.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_decimal(kind):
        return text_of(column, field).cast(pa.float64())
    return column.cast(pa.float64()) if pa.types.is_string(kind) else None


def _boolean(column: Any, field: pa.Field, _: str) -> Any | None:
    if pa.types.is_boolean(field.type):
        return column
    if not pa.types.is_string(field.type):
        return None
    words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    if not pc.all(pc.is_in(words.drop_null(), value_set=pa.array(sorted(BOOLEAN_WORDS)))).as_py():
        return None
    known = pc.is_in(words, value_set=pa.array(sorted(TRUE_WORDS)))
    return pc.if_else(pc.is_valid(words), known, pa.scalar(None, pa.bool_()))


def _date(column: Any, field: pa.Field, _: str) -> Any | None:
    if not (pa.types.is_date32(field.type) or pa.types.is_string(field.type)):
        return None
    return _in_calendar(column.cast(pa.date32()))


def _time(column: Any, field: pa.Field, _: str) -> Any | None:
    return column.cast(pa.time64("us")) if pa.types.is_time(field.type) else None


def _timestamp(column: Any, field: pa.Field, sql_type: str) -> Any | None:
    kind = field.type
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    if zoned and type_head(sql_type) == "TIMESTAMP_NTZ":
        return None
    if not (pa.types.is_timestamp(kind) or pa.types.is_date32(kind) or pa.types.is_string(kind)):
        return None
    return _in_calendar(column.cast(pa.timestamp("us")))


def _instant(column: Any, field: pa.Field, _: str) -> Any | None:
    kind = field.type
    if pa.types.is_string(kind):
        try:
            return _in_calendar(column.cast(pa.timestamp("us", "UTC")))
        except pa.ArrowInvalid:
            # None of them may have a zone: then they are of UTC.
            return pc.assume_timezone(_in_calendar(column.cast(pa.timestamp("us"))), "UTC")
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp("us", "UTC"))
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        return pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC")
    return None


def _in_calendar(column: Any) -> Any:
    """Raises for days that only Arrow has."""
    first = pc.min(column.cast(pa.date32(), safe=False).cast(pa.int32())).as_py()
    if first is not None and first < _FIRST_DAY:
        raise pa.ArrowInvalid("before the first year")
    return column


_Convert = Callable[[Any, pa.Field, str], Any | None]
_NUMERIC: dict[str, _Convert] = {
    **dict.fromkeys(NUMBERS, _number), **dict.fromkeys(FLOATS, _float), "BOOLEAN": _boolean
}  # fmt: skip
_CLOCKS: dict[str, _Convert] = {
    **dict.fromkeys(_INSTANTS, _instant), **dict.fromkeys(_TIMESTAMPS, _timestamp), "DATE": _date, "TIME": _time
}  # fmt: skip
_ARROW: dict[str, pa.DataType] = {
    **dict.fromkeys(FLOATS, pa.float64()),
    **dict.fromkeys(_INSTANTS, pa.timestamp("us", "UTC")),
    **dict.fromkeys(_TIMESTAMPS, pa.timestamp("us")),
    "DATE": pa.date32(), "TIME": pa.time64("us"), "BOOLEAN": pa.bool_(),
}  # fmt: skip
