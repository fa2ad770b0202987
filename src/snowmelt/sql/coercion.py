"""Implicit casts: the common type of several values, the type in which two values are compared, and what a
function's argument word turns an argument into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import MAX_PRECISION, TIMESTAMPS, DataType, Kind, int64, number, varchar
from snowmelt.sql.casts import cast
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.recognition import text_length

_MAX_SCALE = 37
_TEXT_NUMBER = number(MAX_PRECISION, 5)
"""What text becomes where a number is needed and nothing says which."""

_TIMESTAMP_RANK = {Kind.TIMESTAMP_NTZ: 0, Kind.TIMESTAMP_LTZ: 1, Kind.TIMESTAMP_TZ: 2}


def common_type(types_: Sequence[DataType]) -> DataType | None:
    """The type of a CASE, COALESCE, UNION or VALUES column over these types; None if there is none."""
    found: DataType = types.NULL
    for type_ in types_:
        pair = _common_pair(found, type_)
        if pair is None:
            return None
        found = pair
    return found


def _common_pair(left: DataType, right: DataType) -> DataType | None:
    if left == right or right.kind is Kind.NULL:
        return left
    if left.kind is Kind.NULL:
        return right
    kinds = {left.kind, right.kind}
    if Kind.VARIANT in kinds:
        return types.VARIANT
    if kinds <= {Kind.OBJECT, Kind.ARRAY}:
        return left if len(kinds) == 1 else None
    if kinds & {Kind.OBJECT, Kind.ARRAY}:
        return None
    if Kind.VARCHAR in kinds:
        return _with_text(left, right)
    return _without_text(left, right)


def _with_text(left: DataType, right: DataType) -> DataType | None:
    """Text gives way: Snowflake reads it as the other type, and fails on the row where it cannot."""
    other = right if left.kind is Kind.VARCHAR else left
    match other.kind:
        case Kind.VARCHAR:
            same = left.collation if left.collation == right.collation else None
            return replace(varchar(max(left.length or 0, right.length or 0)), collation=same)
        case Kind.NUMBER:
            if other.int64:
                return _TEXT_NUMBER
            return number(MAX_PRECISION, max(other.scale or 0, 5))
        case _:
            return other


def _without_text(left: DataType, right: DataType) -> DataType | None:
    kinds = {left.kind, right.kind}
    if kinds == {Kind.NUMBER}:
        return common_number(left, right)
    if kinds <= {Kind.NUMBER, Kind.FLOAT}:
        return types.FLOAT
    if kinds == {Kind.BINARY}:
        return types.binary(max(left.length or 0, right.length or 0))
    if kinds == {Kind.TIME}:
        return replace(left, precision=max(left.precision or 0, right.precision or 0))
    if kinds <= TIMESTAMPS | {Kind.DATE}:
        return _common_timestamp(left, right)
    if Kind.BOOLEAN in kinds and kinds & {Kind.NUMBER, Kind.FLOAT}:
        return types.BOOLEAN
    return None


def common_number(left: DataType, right: DataType) -> DataType:
    """The NUMBER that holds both, held as a 64-bit integer only if both are."""
    precision = max(left.precision or 0, right.precision or 0)
    if left.int64 and right.int64:
        return int64(precision)
    scale = max(left.scale or 0, right.scale or 0)
    whole = max((side.precision or 0) - (side.scale or 0) for side in (left, right))
    return number(min(whole + scale, MAX_PRECISION), min(scale, _MAX_SCALE))


def _common_timestamp(left: DataType, right: DataType) -> DataType:
    if left.kind is Kind.DATE:
        return right
    if right.kind is Kind.DATE:
        return left
    higher = left if _TIMESTAMP_RANK[left.kind] >= _TIMESTAMP_RANK[right.kind] else right
    return replace(higher, precision=max(left.precision or 0, right.precision or 0))


def comparison_type(left: DataType, right: DataType) -> DataType | None:
    """The type in which `=`, `<`, IN and BETWEEN compare; None if the two cannot be compared.

    Unlike in CASE, a VARIANT gives way to the type it is compared with.
    """
    kinds = {left.kind, right.kind}
    if Kind.VARIANT in kinds and len(kinds) == 2:
        other = right if left.kind is Kind.VARIANT else left
        match other.kind:
            case Kind.OBJECT | Kind.ARRAY | Kind.NULL:
                return types.VARIANT
            case Kind.VARCHAR:
                return types.VARCHAR
            case Kind.NUMBER:
                # A VARIANT's number may have a fraction that rounding to an integer would hide; a FLOAT would
                # take long keys that differ for equal.
                return number(MAX_PRECISION, max(other.scale or 0, 12))
            case _:
                return other
    if Kind.BOOLEAN in kinds and Kind.NUMBER in kinds:
        return types.BOOLEAN
    if kinds == {Kind.VARCHAR}:
        # Lengths play no part in a comparison, and a cast to another length is not free.
        return types.VARCHAR
    return _common_pair(left, right)


def literal_type(node: exp.Literal) -> DataType:
    """A literal's type: `1` is NUMBER(1,0), `1.50` is NUMBER(3,2), `1e3` is FLOAT, `'abc'` is VARCHAR(3)."""
    text = str(node.this)
    if node.is_string:
        return varchar(max(len(text), 1))
    if "e" in text.lower():
        return types.FLOAT
    whole, point, fraction = text.partition(".")
    whole = whole.lstrip("0")
    if not point:
        digits = max(len(whole), 1)
        if digits > MAX_PRECISION:
            return types.FLOAT
        return int64(digits) if digits <= 18 else number(digits, 0)
    precision = max(len(whole) + len(fraction), 1)
    if precision > MAX_PRECISION or len(fraction) > _MAX_SCALE:
        return types.FLOAT
    return number(precision, len(fraction))


def argument(word: str, value: exp.Expr, source: DataType, context: SessionContext) -> tuple[exp.Expr, DataType]:
    """The argument and its type after the cast that a word of `registry.ARGUMENT_WORDS` asks for."""
    target = _ARGUMENT_TARGETS[word](source)
    return cast(value, source, target, context), target


def _as_text(source: DataType) -> DataType:
    if source.kind is Kind.VARCHAR:
        return source
    longest = text_length(source)
    return varchar(longest) if longest < types.MAX_VARCHAR else types.VARCHAR


def _as_number(source: DataType) -> DataType:
    match source.kind:
        case Kind.NUMBER | Kind.FLOAT | Kind.NULL:
            return source if source.kind is not Kind.NULL else types.INTEGER
        case Kind.VARCHAR:
            return _TEXT_NUMBER
        case Kind.VARIANT:
            return types.FLOAT
        case Kind.BOOLEAN:
            return int64(1)
        case _:
            raise errors.compilation("001065", "22023", f"{source} cannot be cast to NUMBER")


def _as_timestamp(source: DataType) -> DataType:
    if source.kind is Kind.DATE or source.is_timestamp:
        return source
    return types.TIMESTAMP_NTZ


def _as_datetime(source: DataType) -> DataType:
    return source if source.kind is Kind.TIME else _as_timestamp(source)


def _always(target: DataType) -> Callable[[DataType], DataType]:
    return lambda _: target


def _as_integer(source: DataType) -> DataType:
    return source if source.int64 else types.INTEGER


def _as_binary(source: DataType) -> DataType:
    return source if source.kind is Kind.BINARY else types.BINARY


def _as_variant(source: DataType) -> DataType:
    return source if source.is_semi_structured else types.VARIANT


def _itself(source: DataType) -> DataType:
    return source


_ARGUMENT_TARGETS: dict[str, Callable[[DataType], DataType]] = {
    "any": _itself,
    "str": _as_text,
    "int": _as_integer,
    "num": _as_number,
    "float": _always(types.FLOAT),
    "bool": _always(types.BOOLEAN),
    "date": _always(types.DATE),
    "ts": _as_timestamp,
    "datetime": _as_datetime,
    "bin": _as_binary,
    "variant": _as_variant,
    "word": _itself,
    "same": _itself,
}
