"""Semi-structured values as Spark VARIANT: how each primitive operation is said in Spark.

Every helper takes and returns Spark syntax trees. VARIANT, OBJECT and ARRAY are all Spark VARIANT; a JSON
null is a VARIANT that is not SQL NULL. Only functions every Spark 4 engine has are used: `variant_get` and
`try_variant_get` with literal paths, `parse_json`, `to_json`, `schema_of_variant`, `to_variant_object`,
casts.

Where a VARIANT cannot hold what Snowflake's can:

* BINARY, TIME and TIMESTAMP_TZ become text, written as Snowflake writes them in JSON.
* A FLOAT inside an object or an array is printed in its shortest form (0.5), not as 5.000000000000000e-01.

Spark's VARIANT has no `undefined`, which is what Snowflake makes of a SQL NULL that is put into an array. `UNDEFINED`
stands for it there: `from_elements` puts it in, `array_elements`, `get_path` and the printed text take it out. So
whoever works on elements sees SQL NULL for `undefined` and a VARIANT for a JSON null, and no other way leads in.

Lambda variables begin with `sm_`: a user's column of the same name would otherwise be captured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from sqlglot import exp

from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, UNDEFINED, DataType, Kind
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import call, identifier, spark, string

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ELEMENT = re.compile(
    r"""(?P<dot>\.)?(?:(?P<name>[A-Za-z_][A-Za-z0-9_$]*)|(?P<quoted>"[^"]*")"""
    r"""|\[\s*(?:(?P<index>\d+)|(?P<key>'[^']*'|"[^"]*"))\s*\])"""
)
_MOMENT = r'"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'
_TIMESTAMPS_IN_JSON = (
    (_MOMENT + r'((?:[+-]\d\d:\d\d)?)"', '"$1.000$2"'),
    (_MOMENT + r'\.(\d\d?)((?:[+-]\d\d:\d\d)?)"', '"$1.$200$3"'),
    (_MOMENT + r'\.(\d{3})\d*((?:[+-]\d\d:\d\d)?)"', '"$1.$2$3"'),
    (_MOMENT + r'\.(\d{3})([+-]\d\d):(\d\d)"', '"$1.$2 $3$4"'),
)
"""From Spark's text of a timestamp, with as few digits as it can, to three digits and +0000 for +00:00."""

_VALUE = spark("sm_printed")
_MAX_INDEX = 2**31 - 1

NULL_VARIANT = "CAST(NULL AS VARIANT)"

_UNDEFINED_BYTES = f"X'{UNDEFINED.encode().hex().upper()}'"
_IS_UNDEFINED = f"try_variant_get(_0, '$', 'binary') = {_UNDEFINED_BYTES}"
"""As bytes, because that is NULL at once for objects and arrays; as text they would be printed first."""


def parse_path(text: str) -> tuple[str | int, ...] | None:
    """The elements of a path such as `a.b[0]['odd key']`, none if it is empty; None when it is no path."""
    elements: list[str | int] = []
    position = 0
    while position < len(text):
        match = _ELEMENT.match(text, position)
        if match is None or bool(match["dot"]) != (bool(elements) and match["index"] is match["key"] is None):
            return None
        position = match.end()
        if match["index"]:
            elements.append(int(match["index"]))
        elif match["name"]:
            elements.append(match["name"])
        else:
            elements.append((match["key"] or match["quoted"])[1:-1])
    return tuple(elements)


def path_text(elements: Sequence[str | int]) -> str:
    """A path as FLATTEN prints it."""
    text = ""
    for element in elements:
        if isinstance(element, int):
            text += f"[{element}]"
        elif _PLAIN_KEY.fullmatch(element):
            text += f".{element}" if text else element
        else:
            text += f"['{element}']"
    return text


def get_path(value: exp.Expr, elements: Sequence[str | int]) -> exp.Expr:
    """`value:a.b[0]`: the VARIANT at a constant path, or SQL NULL. Keys are case-sensitive."""
    path = "$"
    for element in elements:
        segment = _segment(element)
        if segment is not None:
            path += segment
            continue
        # What no path can say is looked up by itself; the path starts again behind it.
        value = _at(value, path)
        value = spark(NULL_VARIANT) if isinstance(element, int) else get_key(value, string(element))
        path = "$"
    found = _at(value, path)
    return bind(found, _defined) if elements and isinstance(elements[-1], int) else found


def _defined(element: exp.Expr) -> exp.Expr:
    """An element of an array: SQL NULL for `undefined`."""
    return spark(f"if({_IS_UNDEFINED}, {NULL_VARIANT}, _0)", element)


def _segment(element: str | int) -> str | None:
    if isinstance(element, int):
        return f"[{element}]" if 0 <= element <= _MAX_INDEX else None
    if _PLAIN_KEY.fullmatch(element):
        return f".{element}"
    # Spark's paths have no escapes, and the quote that encloses a key may not occur in it.
    if '"' not in element:
        return f'["{element}"]'
    return f"['{element}']" if "'" not in element else None


def _at(value: exp.Expr, path: str) -> exp.Expr:
    return value if path == "$" else call("variant_get", value, string(path), string("variant"))


def get_key(value: exp.Expr, key: exp.Expr) -> exp.Expr:
    """The VARIANT under a text key of an object, SQL NULL where there is none."""
    return spark("try_element_at(_0, _1)", object_entries(value), key)


def get_position(value: exp.Expr, position: exp.Expr) -> exp.Expr:
    """The VARIANT at a 0-based position of an array, SQL NULL outside of it and for negative positions."""
    return spark("get(_0, TRY_CAST(_1 AS INT))", array_elements(value), position)


def get_index(value: exp.Expr, index: exp.Expr, index_type: DataType) -> exp.Expr:
    """`value[index]` and GET where the index is computed; a text index is a key, a numeric one a position."""
    if index_type.kind is Kind.NULL:
        return spark(NULL_VARIANT)
    if index_type.is_numeric:
        return get_position(value, index)
    if index_type.is_semi_structured:
        return bind((value, index), _get_variant_index)
    return get_key(value, index)


def _get_variant_index(value: exp.Expr, index: exp.Expr) -> exp.Expr:
    return spark(
        "CASE WHEN left(to_json(_0), 1) = '\"' THEN _1 ELSE _2 END",
        index,
        get_key(value, spark("CAST(_0 AS STRING)", index)),
        get_position(value, spark("try_variant_get(_0, '$', 'bigint')", index)),
    )


def to_variant(value: exp.Expr, source_type: DataType) -> exp.Expr:
    """A typed value as VARIANT. Numbers stay exact; DATE, TIMESTAMP_NTZ and TIMESTAMP_LTZ keep their type.

    SQL NULL stays SQL NULL: it does not become a JSON null.
    """
    match source_type.kind:
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            return value
        case Kind.TIME:
            return spark("CAST(CAST(_0 AS STRING) AS VARIANT)", value)
        case Kind.BINARY:
            return spark("CAST(hex(_0) AS VARIANT)", value)
        case Kind.TIMESTAMP_TZ:
            return spark("CAST(_0 AS VARIANT)", timestamp_tz_text(value))
        case _:
            return spark("CAST(_0 AS VARIANT)", value)


def timestamp_tz_text(value: exp.Expr) -> exp.Expr:
    """TIMESTAMP_TZ as `2024-01-31 10:00:00.000 +0100`."""
    return bind(value, _timestamp_tz_text)


def _timestamp_tz_text(value: exp.Expr) -> exp.Expr:
    instant = exp.Dot(this=exp.Paren(this=value.copy()), expression=identifier(TZ_INSTANT))
    offset = exp.Dot(this=exp.Paren(this=value.copy()), expression=identifier(TZ_OFFSET))
    wall = spark(
        "timestampadd(MINUTE, _1, convert_timezone(current_timezone(), 'UTC', CAST(_0 AS TIMESTAMP_NTZ)))",
        instant,
        offset,
    )
    zone = spark(
        "concat(CASE WHEN _0 < 0 THEN '-' ELSE '+' END, lpad(CAST(abs(_0) DIV 60 AS STRING), 2, '0'), "
        "lpad(CAST(abs(_0) % 60 AS STRING), 2, '0'))",
        offset,
    )
    return spark("concat(_0, ' ', _1)", _milliseconds(wall), zone)


def _milliseconds(wall: exp.Expr) -> exp.Expr:
    """A TIMESTAMP_NTZ with three fractional digits. `date_format` would move times that the zone skips."""
    text = spark("CAST(_0 AS STRING)", wall)
    return spark("rpad(CASE WHEN length(_0) = 19 THEN concat(_0, '.') ELSE _0 END, 23, '0')", text)


def type_word(value: exp.Expr) -> exp.Expr:
    """Spark's name of the value's own type: OBJECT, ARRAY, STRING, BOOLEAN, BIGINT, DECIMAL, VOID, …"""
    return spark("regexp_extract(schema_of_variant(_0), '^[A-Z_]+', 0)", value)


def to_text(value: exp.Expr) -> exp.Expr:
    """The VARCHAR of a VARIANT: strings as they are, objects and arrays as JSON, SQL NULL for a JSON null."""
    return _with_undefined(bind(value, lambda given: _printed(given, "CAST(_0 AS STRING)", _special_text())))


def to_json_text(value: exp.Expr, *, undefined: str = "undefined") -> exp.Expr:
    """TO_JSON: like `to_text`, but strings are quoted and a JSON null is `null`."""
    return _with_undefined(bind(value, lambda given: _printed(given, "to_json(_0)", _special_json())), undefined)


def _with_undefined(text: exp.Expr, written: str = "undefined") -> exp.Expr:
    return spark("replace(_0, _1, _2)", text, string(f'"{UNDEFINED}"'), string(written))


def parse_with_undefined(text: exp.Expr, parse: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The document in a text that may hold `undefined`, as TO_JSON and results write it. `parse` gives NULL for a
    text that is not valid."""
    pattern = string(r"(?<=[\[,]\s{0,20})undefined(?=\s{0,20}[,\]])")
    marked = spark("regexp_replace(_0, _1, _2)", text, pattern, string(f'"{UNDEFINED}"'))
    # A text inside of the document may hold the word between commas. Then it is broken now, and is read as it was.
    return spark("if(contains(_0, 'undefined'), coalesce(_1, _2), _2)", text, parse(marked), parse(text))


def from_result_text(text: exp.Expr) -> exp.Expr:
    """The VARIANT of a text that `to_json_text` made."""
    return parse_with_undefined(text, lambda given: call("try_parse_json", given))


@lru_cache(maxsize=1)
def _special_text() -> exp.Expr:
    number = float_text(spark("CAST(_0 AS DOUBLE)", _VALUE))
    return _special("CAST(_0 AS STRING)", number, _timestamp_text(_VALUE))


@lru_cache(maxsize=1)
def _special_json() -> exp.Expr:
    number = spark("format_string('%.15e', CAST(_0 AS DOUBLE))", _VALUE)
    return _special("to_json(_0)", number, spark("concat(_0, _1, _0)", string('"'), _timestamp_text(_VALUE)))


def _special(plain: str, number: exp.Expr, moment: exp.Expr) -> exp.Expr:
    """How the lambda's variable is printed; the same for every value, so it is built once."""
    return spark(
        "CASE left(schema_of_variant(_0), 9) WHEN 'DOUBLE' THEN _1 WHEN 'TIMESTAMP' THEN _2 ELSE _3 END",
        _VALUE,
        number,
        moment,
        _with_timestamps(_VALUE, spark(plain, _VALUE)),
    )


def _printed(value: exp.Expr, plain: str, special: exp.Expr) -> exp.Expr:
    """What Spark prints, except where there may be a FLOAT or a timestamp, which Snowflake prints differently.

    Most values have neither. They take the short way, and the long one is in a lambda, which is not compiled.
    """
    return spark(
        "CASE WHEN schema_of_variant(_0) RLIKE 'DOUBLE|TIMESTAMP' "
        "THEN element_at(transform(array(_0), sm_printed -> _1), 1) ELSE _2 END",
        value,
        special,
        spark(plain, value),
    )


def _with_timestamps(value: exp.Expr, text: exp.Expr) -> exp.Expr:
    """The text of an object or array, with the timestamps inside it as Snowflake prints them."""
    printed = text
    for pattern, replacement in _TIMESTAMPS_IN_JSON:
        printed = spark("regexp_replace(_0, _1, _2)", printed, string(pattern), string(replacement))
    return spark(
        "CASE WHEN schema_of_variant(_0) RLIKE '[ <]TIMESTAMP(_NTZ)?[,>]' THEN _1 ELSE _2 END",
        value,
        printed,
        text,
    )


def _timestamp_text(value: exp.Expr) -> exp.Expr:
    local = _milliseconds(spark("CAST(CAST(_0 AS TIMESTAMP) AS TIMESTAMP_NTZ)", value))
    zone = spark("date_format(CAST(_0 AS TIMESTAMP), 'xx')", value)
    return spark(
        "CASE WHEN schema_of_variant(_0) = 'TIMESTAMP_NTZ' THEN _1 ELSE concat(_2, ' ', _3) END",
        value,
        _milliseconds(spark("CAST(_0 AS TIMESTAMP_NTZ)", value)),
        local,
        zone,
    )


def float_text(value: exp.Expr) -> exp.Expr:
    """A DOUBLE as Snowflake prints it: 100, 0.5, 12345678.9, 1e+20, 1e-07."""
    return bind(value, _float_text)


def _float_text(value: exp.Expr) -> exp.Expr:
    digits = spark("CAST(CAST(CAST(_0 AS STRING) AS DECIMAL(38, 20)) AS STRING)", value)
    plain = spark("rtrim('.', rtrim('0', _0))", digits)
    exponent = spark(
        "regexp_replace(regexp_replace(replace(replace(CAST(_0 AS STRING), '.0E', 'E'), 'E', 'e'), "
        "'e([0-9])', 'e+$1'), '([+-])([0-9])$', '$10$2')",
        value,
    )
    return spark(
        "CASE WHEN _0 = 0 THEN '0' WHEN abs(_0) < 1e15 AND abs(_0) >= 1e-5 THEN _1 "
        "WHEN _0 = double('Infinity') THEN 'inf' WHEN _0 = double('-Infinity') THEN '-inf' "
        "WHEN isnan(_0) THEN 'NaN' ELSE _2 END",
        value,
        plain,
        exponent,
    )


def comparable(value: exp.Expr) -> exp.Expr:
    """What stands for a VARIANT in `=`, `<`, GROUP BY, DISTINCT, joins and ORDER BY. SQL NULL stays SQL NULL.

    Spark can neither compare nor hash VARIANT. The stand-in is a struct compared field by field: kinds
    first (booleans, numbers, strings, arrays, objects; JSON null last, as ARRAY_SORT has it; for the others
    Snowflake documents no order), then numbers by value whatever their type (1, 1.0 and 1e0 are equal,
    38-digit integers may differ in their last digit), then everything else by its text. An object's keys
    are sorted in its text, so objects are equal when they have the same keys with the same values. A date
    or timestamp compares as text.
    """
    return bind(value, _comparable)


def _comparable(value: exp.Expr) -> exp.Expr:
    number = spark("CASE WHEN left(to_json(_0), 1) RLIKE '[0-9-]' THEN try_variant_get(_0, '$', 'double') END", value)
    return spark(
        "CASE WHEN _0 IS NOT NULL THEN named_struct("
        "'RANK', coalesce(nullif(instr('ft0\"[{n', left(to_json(_0), 1)), 0), 3), "
        "'NUMBER', _1, "
        "'INTEGER', CASE WHEN _1 IS NOT NULL THEN try_variant_get(_0, '$', 'decimal(38, 0)') END, "
        "'FRACTION', CASE WHEN _1 IS NOT NULL THEN try_variant_get(_0, '$', 'decimal(38, 18)') END, "
        "'TEXT', CASE WHEN _1 IS NULL THEN CAST(_0 AS STRING) END) END",
        value,
        number,
    )


def array_elements(value: exp.Expr) -> exp.Expr:
    """The elements of a VARIANT array as Spark ARRAY<VARIANT>; SQL NULL for anything that is not an array.

    An `undefined` element is SQL NULL, a JSON null is a VARIANT.
    """
    elements = call("try_variant_get", value, string("$"), string("array<variant>"))
    return spark("transform(_0, sm_stored -> _1)", elements, _defined(spark("sm_stored")))


def from_elements(elements: exp.Expr) -> exp.Expr:
    """A VARIANT array from Spark ARRAY<VARIANT>. SQL NULLs among the elements become `undefined`."""
    marked = spark("transform(_0, sm_stored -> coalesce(sm_stored, CAST(_1 AS VARIANT)))", elements, string(UNDEFINED))
    return call("to_variant_object", marked)


def object_entries(value: exp.Expr) -> exp.Expr:
    """A VARIANT object as Spark MAP<STRING, VARIANT>, sorted by key; SQL NULL for anything else."""
    return call("try_variant_get", value, string("$"), string("map<string, variant>"))


def from_entries(entries: exp.Expr) -> exp.Expr:
    """A VARIANT object from Spark MAP<STRING, VARIANT>. SQL NULLs among the values become JSON nulls."""
    return call("to_variant_object", entries)
