"""Functions of text. Those that also take BINARY count bytes there.

Positions are counted from 1 and in characters, not in UTF-16 units. A NULL argument gives NULL everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.portable_functions import PREFIX
from snowmelt.core.types import (
    BINARY,
    BOOLEAN,
    MAX_BINARY,
    MAX_VARCHAR,
    VARCHAR,
    DataType,
    Kind,
    binary,
    int64,
    varchar,
    with_collation,
)
from snowmelt.sql import patterns
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.arguments import (
    at_most,
    characters,
    constant_integer,
    is_binary,
    small_integer,
    text_or_bytes,
    text_type,
    unbounded_text_type,
)
from snowmelt.sql.functions.registry import FunctionCall, alias, scalar
from snowmelt.sql.patterns import constant_string, is_null

_COUNT = int64(18)
_Emit = Callable[[FunctionCall], exp.Expr]


def _concat_type(types: tuple[DataType, ...]) -> DataType:
    if all(type_.kind is Kind.BINARY for type_ in types):
        return binary(min(sum(type_.length or MAX_BINARY for type_ in types), MAX_BINARY))
    lengths = [type_.length if type_.kind is Kind.VARCHAR else None for type_ in types]
    return varchar(min(sum(length or MAX_VARCHAR for length in lengths), MAX_VARCHAR))


def _concat_ws_type(types: tuple[DataType, ...]) -> DataType:
    return BINARY if all(type_.kind is Kind.BINARY for type_ in types) else VARCHAR


def _concat(call: FunctionCall) -> exp.Expr:
    return spark_call("concat", *_pieces(call))


def _concat_ws(call: FunctionCall) -> exp.Expr:
    separator, *values = _pieces(call)
    pieces = [values[0]]
    for value in values[1:]:
        pieces += [separator, value]
    if len(values) == 1:
        # The separator appears nowhere, but when it is NULL so is the result.
        pieces.append(spark("left(_0, 0)", separator))
    return spark_call("concat", *pieces)


def _pieces(call: FunctionCall) -> list[exp.Expr]:
    if call.returns.kind is not Kind.BINARY and any(type_.kind is Kind.BINARY for type_ in call.types):
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))
    return [text_or_bytes(call, index) for index in range(len(call.args))]


def _substr(call: FunctionCall) -> exp.Expr:
    """Spark lets a start before the first character count towards the length; here nothing is found then."""
    subject = text_or_bytes(call)
    start = small_integer(call, 1)
    template = "substring(_0, _1, _2)" if len(call.args) > 2 else "substring(_0, _1)"
    length = [small_integer(call, 2)] if len(call.args) > 2 else []
    constant = constant_integer(call, 1, 0)
    if constant is not None and constant >= 0:
        return spark(template, subject, start, *length)
    nothing = spark("X''") if is_binary(call) else string("")

    def build(value: exp.Expr, from_: exp.Expr) -> exp.Expr:
        found = spark(template, value, from_, *length)
        short = spark("left(_0, 0)", found) if length else nothing
        size = spark("octet_length(_0)" if is_binary(call) else "length(_0)", value)
        return spark("CASE WHEN _0 < -_1 THEN _2 ELSE _3 END", from_, size, short, found)

    return bind((subject, start), build)


def _left(call: FunctionCall) -> exp.Expr:
    return spark("substring(_0, 1, _1)", text_or_bytes(call), small_integer(call, 1))


def _right(call: FunctionCall) -> exp.Expr:
    if not is_binary(call):
        return spark("right(_0, _1)", text_or_bytes(call), small_integer(call, 1))
    return bind(
        (call.args[0], small_integer(call, 1)),
        lambda value, count: spark(
            "CASE WHEN _1 <= 0 THEN substring(_0, 1, 0) ELSE substring(_0, greatest(octet_length(_0) - _1 + 1, 1)) END",
            value,
            count,
        ),
    )


def _length(call: FunctionCall) -> exp.Expr:
    return spark("CAST(length(_0) AS BIGINT)", text_or_bytes(call))


def _position(call: FunctionCall) -> exp.Expr:
    needle, subject = text_or_bytes(call, 0), text_or_bytes(call, 1)
    if is_binary(call, 0) or is_binary(call, 1):
        raise errors.unsupported(f"{call.name} of BINARY")
    if len(call.args) == 2:
        return spark("CAST(locate(_0, _1) AS BIGINT)", needle, subject)
    if constant_integer(call, 2, 1) == 1:
        return spark("CAST(locate(_0, _1, 1) AS BIGINT)", needle, subject)
    return spark(
        "CASE WHEN _2 IS NOT NULL THEN CAST(locate(_0, _1, greatest(_2, 1)) AS BIGINT) END",
        needle,
        subject,
        small_integer(call, 2),
    )


def _repeat(call: FunctionCall) -> exp.Expr:
    text, count = call.args[0], constant_integer(call, 1, 0)
    if count is not None and count * (call.types[0].length or MAX_VARCHAR) <= MAX_VARCHAR:
        return spark_call("repeat", text, small_integer(call, 1))
    return bind(
        (text, small_integer(call, 1)),
        lambda t, n: spark_call(
            "repeat", t, at_most(call, MAX_VARCHAR, n, spark("CAST(_0 AS BIGINT) * length(_1)", n, t))
        ),
    )


def _padded(name: str) -> _Emit:
    def emit(call: FunctionCall) -> exp.Expr:
        if is_binary(call) and len(call.args) < 3:
            raise errors.not_enough_arguments(call.name, 3, 2)
        pad = text_or_bytes(call, 2) if len(call.args) > 2 else string(" ")
        length = characters(call, 1)
        return spark_call(name, text_or_bytes(call), length, pad)

    return emit


def _trim(call: FunctionCall) -> exp.Expr:
    name = {"TRIM": "btrim", "LTRIM": "ltrim", "RTRIM": "rtrim"}[call.name]
    if len(call.args) == 1:
        return spark_call(name, call.args[0])
    # Spark's ltrim and rtrim take the characters first.
    first, second = (0, 1) if name == "btrim" else (1, 0)
    return spark_call(name, call.args[first], call.args[second])


def _replace(call: FunctionCall) -> exp.Expr:
    return spark_call("replace", *call.args) if len(call.args) > 2 else spark("replace(_0, _1, '')", *call.args)


def _insert(call: FunctionCall) -> exp.Expr:
    """A position or length outside of the text has no documented meaning: it is an error."""

    def build(base: exp.Expr, start: exp.Expr, count: exp.Expr, inserted: exp.Expr) -> exp.Expr:
        error = fail("001008", "22023", "invalid value [", start, ", ", count, "] for parameter 'INSERT'")
        return spark(
            "CASE WHEN _1 < 1 OR _1 > length(_0) + 1 OR _2 < 0 THEN _4 "
            "ELSE concat(substring(_0, 1, _1 - 1), _3, substring(_0, _1 + _2)) END",
            base, start, count, inserted, error,
        )  # fmt: skip

    return bind((call.args[0], small_integer(call, 1), small_integer(call, 2), call.args[3]), build)


def _character(call: FunctionCall) -> exp.Expr:
    """Any code point, not only the first 256 as in Spark."""
    constant = constant_integer(call, 0, 0)
    if constant is not None:
        if not 0 <= constant <= 0x10FFFF or 0xD800 <= constant <= 0xDFFF:
            raise errors.SnowmeltError("100070", "22000", f"Invalid character code {constant} in the {call.name} input")
        return string(chr(constant))
    error = fail("100070", "22000", "Invalid character code ", call.args[0], f" in the {call.name} input")
    return spark(
        "CASE WHEN _0 < 0 OR _0 > 1114111 OR _0 BETWEEN 55296 AND 57343 THEN _1 "
        "ELSE decode(unhex(lpad(hex(_0), 8, '0')), 'UTF-32') END",
        call.args[0],
        error,
    )


def _ascii(call: FunctionCall) -> exp.Expr:
    error = fail("000002", "0A000", "Unsupported feature 'ASCII of a character outside of ASCII'.")
    return spark("CASE WHEN ascii(_0) > 127 THEN _1 ELSE CAST(ascii(_0) AS BIGINT) END", call.args[0], error)


def _edit_distance(call: FunctionCall) -> exp.Expr:
    distance = spark("CAST(levenshtein(_0, _1) AS BIGINT)", call.args[0], call.args[1])
    if len(call.args) == 2:
        return distance
    # Spark's least leaves NULLs out.
    return spark("CASE WHEN _1 < _0 OR _1 IS NULL THEN _1 ELSE _0 END", distance, call.args[2])


def _search(name: str) -> _Emit:
    def emit(call: FunctionCall) -> exp.Expr:
        if is_binary(call, 0) != is_binary(call, 1) and not (is_null(call.args[0]) or is_null(call.args[1])):
            raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))
        return spark_call(name, text_or_bytes(call, 0), text_or_bytes(call, 1))

    return emit


def _reverse(call: FunctionCall) -> exp.Expr:
    if is_binary(call):
        raise errors.unsupported("REVERSE of BINARY")
    return spark("reverse(_0)", text_or_bytes(call))


def _like(call: FunctionCall) -> exp.Expr:
    escape = call.args[2] if len(call.args) > 2 else None
    return patterns.like(call.args[0], call.args[1], escape, case_insensitive=call.name == "ILIKE")


def _bytes(call: FunctionCall) -> exp.Expr:
    return spark("CAST(octet_length(_0) AS BIGINT)", text_or_bytes(call))


def _bits(call: FunctionCall) -> exp.Expr:
    return spark("CAST(bit_length(_0) AS BIGINT)", text_or_bytes(call))


_INITCAP_DELIMITERS = '\t\n\x0b\f\r !?@"^#$&~_,.:;+-*%/|\\[](){}<>'


def _initcap(call: FunctionCall) -> exp.Expr:
    delimiters = _INITCAP_DELIMITERS
    if len(call.args) > 1:
        if is_null(call.args[1]):
            return spark("CAST(NULL AS STRING)")
        given = constant_string(call.args[1])
        if given is None:
            raise errors.unsupported("INITCAP with delimiters that are not a constant")
        delimiters = given
    if not delimiters:
        return bind(
            call.args[0],
            lambda text: spark("concat(upper(left(_0, 1)), lower(substring(_0, 2)))", text),
        )
    escaped = "".join(f"\\{character}" if character in "\\[]^-&" else character for character in delimiters)
    return spark(
        "array_join(transform(regexp_extract_all(_0, _1, 0), "
        "sm_word -> CASE WHEN contains(_2, sm_word) THEN sm_word "
        "ELSE concat(upper(left(sm_word, 1)), lower(substring(sm_word, 2))) END), '')",
        call.args[0],
        string(f"[^{escaped}]+|[{escaped}]"),
        string(delimiters),
    )


def _collate_type(call: FunctionCall) -> DataType:
    specification = call.literal(1)
    if specification is None:
        raise errors.unsupported("COLLATE with something that is not a constant")
    return with_collation(call.types[0], specification) or call.types[0]


def _collation(call: FunctionCall) -> exp.Expr:
    name = call.types[0].collation
    return string(name) if name is not None else exp.Null()


_LENGTH = scalar("LENGTH", "any", _COUNT, _length)
_CHR = scalar("CHR", "int", varchar(1), _character)
_POSITION = scalar("POSITION", "any, any, int", _COUNT, _position, least=2)
_SUBSTR = scalar("SUBSTR", "any, int, int", text_type, _substr, least=2)

FUNCTIONS = (
    scalar("ASCII", "str", int64(3), _ascii),
    scalar("BIT_LENGTH", "any", _COUNT, _bits),
    _CHR,
    *alias(_CHR, "CHAR"),
    _POSITION,
    *alias(_POSITION, "CHARINDEX"),
    scalar("COLLATE", "str, str", text_type, "_0", typed=_collate_type),
    scalar("COLLATION", "str", VARCHAR, _collation),
    scalar("CONCAT", "any", _concat_type, _concat, variadic=True),
    scalar("CONCAT_WS", "any, any", _concat_ws_type, _concat_ws, variadic=True),
    scalar("CONTAINS", "any, any", BOOLEAN, _search("contains")),
    scalar("EDITDISTANCE", "str, str, int", _COUNT, _edit_distance, least=2),
    scalar("ENDSWITH", "any, any", BOOLEAN, _search("endswith")),
    scalar("ILIKE", "str, str, str", BOOLEAN, _like, least=2),
    scalar("INITCAP", "str, str", text_type, _initcap, least=1),
    scalar("INSERT", "str, int, int, str", VARCHAR, _insert),
    scalar("JAROWINKLER_SIMILARITY", "str, str", int64(3), f"CAST({PREFIX}jarowinkler(_0, _1) AS BIGINT)"),
    scalar("LEFT", "any, int", text_type, _left),
    _LENGTH,
    *alias(_LENGTH, "LEN", "CHARACTER_LENGTH", "CHAR_LENGTH"),
    scalar("LIKE", "str, str, str", BOOLEAN, _like, least=2),
    scalar("LOWER", "str", text_type, "lower(_0)"),
    scalar("LPAD", "any, int, any", unbounded_text_type, _padded("lpad"), least=2),
    scalar("LTRIM", "str, str", text_type, _trim, least=1),
    scalar("OCTET_LENGTH", "any", _COUNT, _bytes),
    scalar(
        "REPEAT",
        "str, int",
        VARCHAR,
        _repeat,
    ),
    scalar("REPLACE", "str, str, str", VARCHAR, _replace, least=2),
    scalar("REVERSE", "any", text_type, _reverse),
    scalar("RIGHT", "any, int", text_type, _right),
    scalar("RPAD", "any, int, any", unbounded_text_type, _padded("rpad"), least=2),
    scalar("RTRIM", "str, str", text_type, _trim, least=1),
    scalar("RTRIMMED_LENGTH", "str", _COUNT, "CAST(length(rtrim(_0)) AS BIGINT)"),
    scalar("SOUNDEX", "str", varchar(4), "soundex(_0)"),
    scalar("SOUNDEX_P123", "str", varchar(4), f"{PREFIX}soundex_p123(_0)"),
    scalar("SPACE", "int", VARCHAR, lambda call: spark_call("space", characters(call, 0))),
    scalar("STARTSWITH", "any, any", BOOLEAN, _search("startswith")),
    _SUBSTR,
    *alias(_SUBSTR, "SUBSTRING"),
    scalar("TRANSLATE", "str, str, str", text_type, "translate(_0, _1, _2)"),
    scalar("TRIM", "str, str", text_type, _trim, least=1),
    scalar("UNICODE", "str", _COUNT, "CAST(ascii(_0) AS BIGINT)"),
    scalar("UPPER", "str", text_type, "upper(_0)"),
)
