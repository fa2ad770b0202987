"""Values that have a type already, converted in Arrow where SQL's cast gives the same.

What does not fit (a number beyond the column's digits, bytes that are too many) is left to the SQL cast, whose error
has the right words.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core import types
from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading.attempts import CastAttempt, TextRules, short_text, without
from snowmelt.storage.schema import arrow_type

_SHORT_FLOAT = r"^-?[0-9]{1,15}(\.[0-9]{1,17})?$"
_FLOAT_DIGITS = pa.decimal128(38, 17)
_INT64 = 1 << 63
_MICROSECONDS = 6


def typed(values: Any, source: DataType, target: DataType, rules: TextRules) -> CastAttempt | None:
    """The values in the column's stored form; None when only Spark can convert them."""
    try:
        return _typed(values, source, target, rules)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Digits beyond what Arrow's decimals hold, or a time zone that this machine does not know.
        return None


def _typed(values: Any, source: DataType, target: DataType, rules: TextRules) -> CastAttempt | None:
    match source.kind, target.kind:
        case Kind.NUMBER, Kind.NUMBER:
            return _number(values, source, target)
        case Kind.FLOAT, Kind.NUMBER:
            return _float_to_number(values, target)
        case Kind.NUMBER, Kind.FLOAT:
            exact = values.cast(pa.float64(), safe=False) if source.int64 else None
            return CastAttempt(exact if exact is not None else values.cast(pa.string()).cast(pa.float64()))
        case Kind.NUMBER, Kind.VARCHAR if source.int64:
            return short_text(values.cast(pa.string()), target, rules)
        case Kind.VARCHAR, Kind.VARCHAR:
            return short_text(values, target, rules)
        case Kind.TIME, Kind.TIME:
            return _time(values, target)
        case Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_NTZ:
            local = pc.local_timestamp(values.cast(pa.timestamp("us", rules.time_zone)))
            return CastAttempt(_cut(local, target))
        case Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_LTZ if rules.time_zone == "UTC":
            return CastAttempt(_cut(pc.assume_timezone(values, "UTC"), target))
        case Kind.DATE, Kind.TIMESTAMP_NTZ:
            return CastAttempt(values.cast(pa.timestamp("us")))
    if source.kind is not target.kind or source.kind is Kind.TIMESTAMP_TZ:
        return None
    if source.kind is Kind.BINARY and (target.length or 0) < types.MAX_BINARY:
        return _short_bytes(values, target)
    wanted = arrow_type(target)
    converted = values if values.type == wanted else pc.cast(values, wanted)
    return CastAttempt(_cut(converted, target) if source.is_timestamp else converted)


# -- numbers --------------------------------------------------------------------------------------------------------


def _number(values: Any, source: DataType, target: DataType) -> CastAttempt | None:
    if source.int64:
        return CastAttempt(values) if target.int64 else _fitted(values.cast(pa.decimal128(19, 0)), target)
    return _fitted(values, target)


def _float_to_number(values: Any, target: DataType) -> CastAttempt:
    """Converts as Spark does, by way of the shortest text. What Java writes with an exponent is left to Spark."""
    text = values.cast(pa.string())
    plain = pc.fill_null(pc.match_substring_regex(text, _SHORT_FLOAT), True)
    doubt = None if pc.all(plain).as_py() is not False else pc.invert(plain)
    found = _fitted(without(text, doubt).cast(_FLOAT_DIGITS), target)
    if found.doubt is None or doubt is None:
        return CastAttempt(found.values, doubt if found.doubt is None else found.doubt)
    return CastAttempt(found.values, pc.or_(doubt, found.doubt))


def _fitted(values: Any, target: DataType) -> CastAttempt:
    """Decimals rounded half up to the column's scale; those with too many digits before the point are in doubt."""
    scale = target.scale or 0
    if values.type.scale > scale:
        wide = pa.decimal128(min(38, values.type.precision + 1), values.type.scale)
        values = pc.round(values.cast(wide), ndigits=scale, round_mode="half_towards_infinity")
    limit = Decimal(_INT64) if target.int64 else Decimal(10) ** ((target.precision or 38) - scale)
    lead = values.type.precision - values.type.scale
    doubt = None
    if Decimal(10) ** lead > limit:
        beyond = pc.fill_null(pc.greater_equal(pc.abs(values), pa.scalar(limit)), False)
        if pc.any(beyond).as_py():
            doubt = beyond
            values = without(values, doubt)
    return CastAttempt(values.cast(arrow_type(target)), doubt)


# -- text, bytes and times --------------------------------------------------------------------------------------------


def _short_bytes(values: Any, target: DataType) -> CastAttempt:
    long = pc.fill_null(pc.greater(pc.binary_length(values), target.length or 0), False)
    if not pc.any(long).as_py():
        return CastAttempt(values)
    return CastAttempt(without(values, long), long)


def _time(values: Any, target: DataType) -> CastAttempt | None:
    """ISO text without zeros at the end of the fraction, which is how SQL prints a TIME."""
    if (target.precision or 9) < _MICROSECONDS:
        return None
    text = values.cast(pa.string())
    return CastAttempt(
        pc.replace_substring_regex(pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1"), r"\.$", "")
    )


def _cut(values: Any, target: DataType) -> Any:
    """Instants without the digits of the second that the column does not keep."""
    kept = 9 if target.precision is None else target.precision
    if kept >= _MICROSECONDS:
        return values
    return pc.floor_temporal(values, multiple=10 ** (_MICROSECONDS - kept), unit="microsecond")
