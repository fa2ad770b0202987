"""The list of scalar functions. A function of Spark's that is not here is computed by Spark.

Each entry takes the arguments and gives the value in DuckDB's words, for every input for which both engines agree. For
an input on which they might differ (a letter beyond ASCII in `upper`, a year of five digits) the text raises an error
when it is met, and Spark computes the query instead. `tests/quick` compares each entry with Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from snowmelt.engine.quick import operators
from snowmelt.engine.quick.casts import cast, in_years
from snowmelt.engine.quick.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    NotQuick,
    SparkType,
    decimal,
)  # fmt: skip
from snowmelt.engine.quick.values import Value, literal, unified

Function = Callable[[Sequence[Value]], Value]


def _typed(arguments: Sequence[Value], *types: SparkType) -> Sequence[Value]:
    if len(arguments) != len(types) or any(a.type != t for a, t in zip(arguments, types, strict=True)):
        raise NotQuick("these types of arguments")
    return arguments


def _texts(pattern: str, result: SparkType, count: int = 1) -> Function:
    """A function of texts, in which {0}, {1} … stand for them."""

    def function(arguments: Sequence[Value]) -> Value:
        given = _typed(arguments, *[STRING] * count)
        return Value(pattern.format(*(argument.sql for argument in given)), result)

    return function


def _ascii(name: str) -> Function:
    """Letters beyond ASCII have rules of their own in each engine."""

    def function(arguments: Sequence[Value]) -> Value:
        (text,) = _typed(arguments, STRING)
        sql = text.sql
        plain = f"{sql} IS NULL OR strlen({sql}) = length({sql})"
        return Value(f"CASE WHEN {plain} THEN {name}({sql}) ELSE error('letters') END", STRING)

    return function


def _trimmed(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        if len(arguments) == 1:
            (text,) = _typed(arguments, STRING)
            return Value(f"{name}({text.sql}, ' ')", STRING)
        characters, text = _typed(arguments, STRING, STRING)
        if name == "trim":
            characters, text = text, characters
        if not characters.text:
            raise NotQuick(f"{name} of characters that are no literal")
        return Value(f"{name}({text.sql}, {characters.sql})", STRING)

    return function


def _substring(arguments: Sequence[Value]) -> Value:
    text, *places = arguments
    numbers = [place.number for place in places]
    if text.type != STRING or not numbers or any(number is None for number in numbers):
        raise NotQuick("substring by what are no literals")
    start, *length = [number for number in numbers if number is not None]
    if start < 1 or any(number < 0 for number in length):
        raise NotQuick("substring from the end")
    more = "".join(f", {number}" for number in length)
    return Value(f"substring({text.sql}, {start}{more})", STRING)


def _concat(arguments: Sequence[Value]) -> Value:
    _typed(arguments, *[STRING] * len(arguments))
    return Value("(" + " || ".join(argument.sql for argument in arguments) + ")", STRING)


def _replace(arguments: Sequence[Value]) -> Value:
    text, search, other = _typed(arguments, STRING, STRING, STRING)
    if not search.text:
        raise NotQuick("replace of what is no literal")
    return Value(f"replace({text.sql}, {search.sql}, {other.sql})", STRING)


def _split_part(arguments: Sequence[Value]) -> Value:
    text, separator, number = arguments
    if text.type != STRING or not separator.text or number.number is None or number.number < 1:
        raise NotQuick("split_part by what are no literals")
    return Value(f"split_part({text.sql}, {separator.sql}, {number.number})", STRING)


def _coalesce(arguments: Sequence[Value]) -> Value:
    given, target = unified(arguments, "coalesce")
    return Value(f"coalesce({', '.join(value.sql for value in given)})", target)


def _extreme(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        given, target = unified(arguments, name)
        if not target.has_order or target in (DOUBLE, VOID):
            raise NotQuick(f"{name} of {target.duck}")
        return Value(f"{name}({', '.join(value.sql for value in given)})", target)

    return function


def _if(arguments: Sequence[Value]) -> Value:
    test, *branches = arguments
    (yes, no), target = unified(branches, "if")
    return Value(f"CASE WHEN {operators.condition(test)} THEN {yes.sql} ELSE {no.sql} END", target)


def _nullif(arguments: Sequence[Value]) -> Value:
    value, other = arguments
    equal = operators.compared("=", value, other)
    return Value(f"CASE WHEN {equal.sql} THEN NULL ELSE {value.sql} END", value.type)


def _raise(arguments: Sequence[Value]) -> Value:
    (text,) = _typed(arguments, STRING)
    return Value(f"error({text.sql})", VOID)


def _abs(arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if not (value.type.is_exact_number or value.type == DOUBLE):
        raise NotQuick(f"abs of {value.type.duck}")
    return Value(f"CAST(abs({value.sql}) AS {value.type.duck})", value.type)


def _round(arguments: Sequence[Value]) -> Value:
    value, *places = arguments
    number = places[0].number if places else 0
    if not value.type.is_decimal or number is None or number < 0:
        raise NotQuick(f"round of {value.type.duck}")
    scale = min(value.type.scale, number)
    target = decimal(value.type.precision - value.type.scale + 1 + scale, scale)
    return Value(f"CAST({value.sql} AS {target.duck})", target)


def _whole(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        (value,) = arguments
        if not value.type.is_decimal:
            raise NotQuick(f"{name} of {value.type.duck}")
        if not value.type.scale:
            return value
        target = decimal(value.type.precision - value.type.scale + 1, 0)
        return Value(f"CAST({name}({value.sql}) AS {target.duck})", target)

    return function


def _cast_to(target: SparkType) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        (value,) = arguments
        return cast(value, target)

    return function


def _part(name: str, *of: SparkType) -> Function:
    """A part of a date or a timestamp, as a number."""

    def function(arguments: Sequence[Value]) -> Value:
        (value,) = arguments
        if value.type not in of:
            raise NotQuick(f"{name} of {value.type.duck}")
        return Value(f"CAST({name}({value.sql}) AS INTEGER)", INT)

    return function


def _moved(sign: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        day, days = arguments
        if day.type != DATE or days.type != INT:
            raise NotQuick("days from what is no date")
        return _day(f"CAST({day.sql} {sign} {days.sql} AS DATE)")

    return function


def _add_months(arguments: Sequence[Value]) -> Value:
    day, months = _typed(arguments, DATE, INT)
    return _day(f"CAST({day.sql} + to_months({months.sql}) AS DATE)")


def _day(sql: str) -> Value:
    """A date that both engines know."""
    return Value(f"CASE WHEN {in_years(sql)} THEN {sql} ELSE error('year') END", DATE)


def _last_day(arguments: Sequence[Value]) -> Value:
    (day,) = _typed(arguments, DATE)
    return Value(f"last_day({day.sql})", DATE)


_UNITS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "week"}
_UNITS_OF_TIME = {**_UNITS, "DAY": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second"}


def _trunc(arguments: Sequence[Value]) -> Value:
    day, unit = arguments
    name = _UNITS.get((unit.text or "").upper())
    if day.type != DATE or name is None:
        raise NotQuick("trunc of this kind")
    return Value(f"CAST(date_trunc('{name}', {day.sql}) AS DATE)", DATE)


def _date_trunc(arguments: Sequence[Value]) -> Value:
    unit, moment = arguments
    name = _UNITS_OF_TIME.get((unit.text or "").upper())
    if moment.type not in (TIMESTAMP_NTZ, TIMESTAMP) or name is None:
        raise NotQuick("date_trunc of this kind")
    # Whatever it is given, Spark takes it for a TIMESTAMP.
    plain = f"CAST({moment.sql} AS TIMESTAMP)"
    return Value(f"CAST(date_trunc('{name}', {plain}) AS TIMESTAMPTZ)", TIMESTAMP)


def _unix_date(arguments: Sequence[Value]) -> Value:
    (day,) = _typed(arguments, DATE)
    return Value(f"CAST({day.sql} - DATE '1970-01-01' AS INTEGER)", INT)


def _datediff(arguments: Sequence[Value]) -> Value:
    left, right = arguments
    return operators.days_between(left, right)


_PATTERN = re.compile(r"'((?:[^']|'')*)'|(y+|M+|d+|H+|m+|s+|S+)|(.)")
_WORDS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%g", "SSSSSS": "%f"}


def _date_format(arguments: Sequence[Value]) -> Value:
    moment, pattern = arguments
    if moment.type not in (DATE, TIMESTAMP_NTZ) or pattern.text is None:
        raise NotQuick("date_format of this kind")
    parts = []
    for quoted, word, other in _PATTERN.findall(pattern.text):
        if (word and word not in _WORDS) or other.isalpha():
            raise NotQuick("date_format with this pattern")
        parts.append(_WORDS[word] if word else (quoted.replace("''", "'") or other).replace("%", "%%"))
    sql = moment.sql
    return Value(
        f"CASE WHEN {in_years(sql)} THEN strftime({sql}, {literal(''.join(parts))}) ELSE error('year') END", STRING
    )


def _like(pattern: str) -> Function:
    return _texts(pattern, BOOLEAN, 2)


def _is_nan(arguments: Sequence[Value]) -> Value:
    (value,) = _typed(arguments, DOUBLE)
    return Value(f"coalesce(isnan({value.sql}), false)", BOOLEAN)


_DAYS = (DATE, TIMESTAMP_NTZ)

FUNCTIONS: dict[str, Function] = {
    "abs": _abs,
    "add_months": _add_months,
    "btrim": _trimmed("trim"),
    "ceil": _whole("ceil"),
    "char_length": _texts("CAST(length({0}) AS INTEGER)", INT),
    "coalesce": _coalesce,
    "concat": _concat,
    "contains": _like("contains({0}, {1})"),
    "date_add": _moved("+"),
    "date_format": _date_format,
    "date_sub": _moved("-"),
    "date_trunc": _date_trunc,
    "datediff": _datediff,
    "day": _part("day", *_DAYS),
    "dayofmonth": _part("day", *_DAYS),
    "dayofyear": _part("dayofyear", *_DAYS),
    "double": _cast_to(DOUBLE),
    "endswith": _like("suffix({0}, {1})"),
    "floor": _whole("floor"),
    "greatest": _extreme("greatest"),
    "hour": _part("hour", TIMESTAMP_NTZ),
    "if": _if,
    "int": _cast_to(INT),
    "isnan": _is_nan,
    "last_day": _last_day,
    "least": _extreme("least"),
    "length": _texts("CAST(length({0}) AS INTEGER)", INT),
    "lower": _ascii("lower"),
    "ltrim": _trimmed("ltrim"),
    "minute": _part("minute", TIMESTAMP_NTZ),
    "month": _part("month", *_DAYS),
    "nullif": _nullif,
    "quarter": _part("quarter", *_DAYS),
    "raise_error": _raise,
    "replace": _replace,
    "reverse": _ascii("reverse"),
    "round": _round,
    "rtrim": _trimmed("rtrim"),
    "split_part": _split_part,
    "startswith": _like("prefix({0}, {1})"),
    "string": _cast_to(STRING),
    "substring": _substring,
    "trunc": _trunc,
    "unix_date": _unix_date,
    "upper": _ascii("upper"),
    "year": _part("year", *_DAYS),
}
"""By Spark's name."""
