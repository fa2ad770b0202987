"""PARSE_JSON and its like, the type predicates IS_*, the strict casts AS_*, and GET in all its spellings."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import (
    ARRAY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    MAX_PRECISION,
    OBJECT,
    TIMESTAMP_LTZ,
    TIMESTAMP_NTZ,
    UNDEFINED,
    VARCHAR,
    VARIANT,
    DataType,
    Kind,
    number,
)  # fmt: skip
from snowmelt.sql import casts, variants
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.registry import Function, FunctionCall, alias, refused, scalar

_END = "snowmelt: end of document"
"""Follows a document that is parsed as the first element of an array: Spark's parser ignores what is behind the
first value, so a document is whole only if this is still seen behind it."""

_PIECES = r'"(?:[^"\\]++|\\[\s\S])*+"?|[^"]++'
"""The texts of a document, and what is between them."""
_LEFT_OUT = r"(?<=,|\[(?!\s{0,20}\]))\s{0,20}(?=[,\]])"
"""Where an element of an array is left out, between two texts."""

_NO_SUCH_TYPE = {
    "BINARY": "BINARY values become text in a VARIANT.",
    "TIME": "TIME values become text in a VARIANT.",
    "TIMESTAMP_TZ": "TIMESTAMP_TZ values become text in a VARIANT.",
}


def variant_argument(call: FunctionCall, index: int) -> exp.Expr:
    """An argument as VARIANT, whatever its type."""
    return variants.to_variant(call.args[index], call.types[index])


# -- parsing --------------------------------------------------------------------------------------------------


def _check_duplicates_mode(call: FunctionCall) -> None:
    mode = call.literal(1)
    if len(call.args) > 1 and mode != "s":
        raise errors.unsupported(
            f"{call.name} with the parameter '{mode}'",
            hint="Only 's' is supported: an object with a duplicate key is an error.",
        )


def _parsed(text: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    """The document in a text; NULL for NULL and for blank text, `otherwise` where it is not valid."""
    loose = spark("CAST(_0 AS VARIANT)", bind(_loosely(text), lambda found: _whole(found, otherwise)))
    strict = variants.parse_with_undefined(text, lambda given: _wrapped("try_parse_json(_0)", given))
    parsed = bind(strict, lambda found: _whole(found, loose))
    return spark("CASE WHEN NOT _0 RLIKE '^\\\\s*$' THEN _1 END", text, parsed)


def _wrapped(template: str, text: exp.Expr) -> exp.Expr:
    return spark(template, spark("concat('[', _0, _1)", text, string(f',"{_END}"]')))


def _whole(document: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    return spark(
        "CASE WHEN variant_get(_0, '$[1]', 'string') = _1 AND variant_get(_0, '$[2]', 'variant') IS NULL "
        "THEN variant_get(_0, '$[0]', 'variant') ELSE _2 END",
        document,
        string(_END),
        otherwise,
    )


def _loosely(text: exp.Expr) -> exp.Expr:
    """What is no JSON to Spark and is to Snowflake: keys without quotes, `'`, NaN, elements that are left out."""
    undefined = string(f'"{UNDEFINED}"')
    # Piece by piece: one pattern that looked ahead for the quotes to come would look at all of it from every comma.
    filled = spark(
        "array_join(transform(regexp_extract_all(_0, _1, 0), "
        "sm_piece -> if(startswith(sm_piece, _4), sm_piece, regexp_replace(sm_piece, _2, _3))), '')",
        text, string(_PIECES), string(_LEFT_OUT), undefined, string('"'),
    )  # fmt: skip
    return variants.parse_with_undefined(
        filled, lambda given: _wrapped("from_json(_0, 'variant', map('allowUnquotedFieldNames', 'true'))", given)
    )


def parse_json(text: exp.Expr) -> exp.Expr:
    """PARSE_JSON of a Spark string."""

    def parse(given: exp.Expr) -> exp.Expr:
        start = spark("left(_0, 100)", given)
        error = fail("100069", "22P02", "Error parsing JSON: ", start)
        return _parsed(given, spark("CAST(_0 AS VARIANT)", error))

    return bind(text, parse)


def _parse_json(call: FunctionCall) -> exp.Expr:
    _check_duplicates_mode(call)
    return parse_json(call.args[0])


def _try_parse_json(call: FunctionCall) -> exp.Expr:
    _check_duplicates_mode(call)
    return bind(call.args[0], lambda text: _parsed(text, spark(variants.NULL_VARIANT)))


def _check_json(call: FunctionCall) -> exp.Expr:
    if call.types[0].is_semi_structured:
        return spark("CAST(NULL AS STRING)")
    return bind(
        casts.cast(call.args[0], call.types[0], VARCHAR, call.context),
        lambda text: spark(
            "CASE WHEN NOT _0 RLIKE '^\\\\s*$' AND _1 IS NULL THEN 'invalid JSON' END",
            text,
            _parsed(text, spark(variants.NULL_VARIANT)),
        ),
    )


# -- conversion -----------------------------------------------------------------------------------------------


def _to_json(call: FunctionCall) -> exp.Expr:
    return bind(variant_argument(call, 0), variants.to_json_text)


def _to_variant(call: FunctionCall) -> exp.Expr:
    return variant_argument(call, 0)


def _to_object(call: FunctionCall) -> exp.Expr:
    if call.types[0].kind not in (Kind.VARIANT, Kind.OBJECT, Kind.NULL):
        raise errors.invalid_argument_types("TO_OBJECT", str(call.types[0]))
    return casts.cast(call.args[0], call.types[0], OBJECT, call.context)


def _to_array(call: FunctionCall) -> exp.Expr:
    if call.types[0].kind is Kind.ARRAY:
        return call.args[0]
    return casts.cast(variant_argument(call, 0), VARIANT, ARRAY, call.context)


def _typeof(call: FunctionCall) -> exp.Expr:
    return spark(
        "CASE _0 WHEN 'VOID' THEN 'NULL_VALUE' WHEN 'STRING' THEN 'VARCHAR' WHEN 'BIGINT' THEN 'INTEGER' "
        "WHEN 'FLOAT' THEN 'DOUBLE' WHEN 'TIMESTAMP' THEN 'TIMESTAMP_LTZ' "
        "WHEN 'DECIMAL' THEN CASE WHEN endswith(schema_of_variant(_1), ',0)') THEN 'INTEGER' ELSE 'DECIMAL' END "
        "ELSE _0 END",
        variants.type_word(variant_argument(call, 0)),
        variant_argument(call, 0),
    )


# -- predicates and strict casts ------------------------------------------------------------------------------

_PATTERNS = {
    "ARRAY": "^ARRAY<",
    "OBJECT": "^OBJECT<",
    "BOOLEAN": "^BOOLEAN$",
    "VARCHAR": "^STRING$",
    "DATE": "^DATE$",
    "INTEGER": "^(BIGINT|DECIMAL\\\\(\\\\d+,0\\\\))$",
    "DECIMAL": "^(BIGINT|DECIMAL.*)$",
    "DOUBLE": "^(BIGINT|DECIMAL.*|DOUBLE|FLOAT)$",
    "TIMESTAMP_NTZ": "^TIMESTAMP_NTZ$",
    "TIMESTAMP_LTZ": "^TIMESTAMP$",
}
"""What `schema_of_variant` says of values that count as each type. A decimal counts as DOUBLE, an integer as both."""


def _is_a(kind: str) -> Callable[[FunctionCall], exp.Expr]:
    template = f"schema_of_variant(_0) RLIKE '{_PATTERNS[kind]}'"
    return lambda call: spark(template, variant_argument(call, 0))


def _as_a(kind: str, type_: DataType) -> Callable[[FunctionCall], exp.Expr]:
    template = f"CASE WHEN schema_of_variant(_0) RLIKE '{_PATTERNS[kind]}' THEN _1 END"

    def emit(call: FunctionCall) -> exp.Expr:
        value = variant_argument(call, 0)
        return bind(
            value,
            lambda given: spark(template, given, casts.cast(given, VARIANT, _number_type(call) or type_, call.context)),
        )

    return emit


def _number_type(call: FunctionCall) -> DataType | None:
    if call.name not in ("AS_DECIMAL", "AS_NUMBER"):
        return None
    digits = [call.literal(index) or "" for index in range(1, len(call.args))]
    if not all(text.isdigit() for text in digits):
        raise errors.invalid_value(", ".join(digits), call.name)
    precision = int(digits[0]) if digits else MAX_PRECISION
    scale = int(digits[1]) if len(digits) > 1 else 0
    if not (1 <= precision <= MAX_PRECISION and scale < MAX_PRECISION and scale <= precision):
        raise errors.invalid_value(", ".join(digits), call.name)
    return number(precision, scale)


def _as_number_type(call: FunctionCall) -> DataType:
    return _number_type(call) or number(38, 0)


_PREDICATES = tuple(
    scalar(name, "any", BOOLEAN, _is_a(kind))
    for name, kind in {
        "IS_ARRAY": "ARRAY", "IS_BOOLEAN": "BOOLEAN", "IS_CHAR": "VARCHAR", "IS_VARCHAR": "VARCHAR",
        "IS_DATE": "DATE", "IS_DATE_VALUE": "DATE", "IS_DECIMAL": "DECIMAL", "IS_DOUBLE": "DOUBLE",
        "IS_REAL": "DOUBLE", "IS_INTEGER": "INTEGER", "IS_OBJECT": "OBJECT",
        "IS_TIMESTAMP_NTZ": "TIMESTAMP_NTZ", "IS_TIMESTAMP_LTZ": "TIMESTAMP_LTZ",
    }.items()
)  # fmt: skip
_STRICT_CASTS = tuple(
    scalar(name, "any", type_, _as_a(kind, type_))
    for name, kind, type_ in (
        ("AS_ARRAY", "ARRAY", ARRAY), ("AS_OBJECT", "OBJECT", OBJECT), ("AS_BOOLEAN", "BOOLEAN", BOOLEAN),
        ("AS_CHAR", "VARCHAR", VARCHAR), ("AS_VARCHAR", "VARCHAR", VARCHAR), ("AS_DATE", "DATE", DATE),
        ("AS_DOUBLE", "DOUBLE", FLOAT), ("AS_REAL", "DOUBLE", FLOAT), ("AS_INTEGER", "INTEGER", INTEGER),
        ("AS_TIMESTAMP_NTZ", "TIMESTAMP_NTZ", TIMESTAMP_NTZ),
        ("AS_TIMESTAMP_LTZ", "TIMESTAMP_LTZ", TIMESTAMP_LTZ),
    )
)  # fmt: skip


# -- access ---------------------------------------------------------------------------------------------------


_KEYS = (Kind.VARCHAR, Kind.NULL)


def _get(call: FunctionCall) -> exp.Expr:
    value, index = call.args
    if not (call.types[1].is_numeric or call.types[1].is_semi_structured or call.types[1].kind in _KEYS):
        raise errors.invalid_argument_types(call.name, ", ".join(map(str, call.types)))
    written = call.source[1]
    if isinstance(written, exp.Literal) and (written.is_string or written.is_int):
        return variants.get_path(value, [str(written.this) if written.is_string else int(written.this)])
    return bind((value, index), lambda v, i: variants.get_index(v, i, call.types[1]))


def _get_ignore_case(call: FunctionCall) -> exp.Expr:
    """The exact key if there is one, else the first that differs in case only."""

    def find(entries: exp.Expr, key: exp.Expr) -> exp.Expr:
        return spark(
            "CASE WHEN map_contains_key(_0, _1) THEN try_element_at(_0, _1) "
            "ELSE get(map_values(map_filter(_0, (sm_key, sm_value) -> lower(sm_key) = lower(_1))), 0) END",
            entries,
            key,
        )

    return bind((variants.object_entries(call.args[0]), call.args[1]), find)


def _path_elements(call: FunctionCall) -> tuple[str | int, ...]:
    path = call.literal(1)
    if path is None or not isinstance(call.source[1], exp.Literal):
        raise errors.unsupported(f"{call.name} with a path that is not a constant")
    elements = variants.parse_path(path)
    if elements is None:
        raise errors.invalid_value(path, call.name)
    return elements


def _get_path(call: FunctionCall) -> exp.Expr:
    return variants.get_path(call.args[0], _path_elements(call))


def _json_extract_path_text(call: FunctionCall) -> exp.Expr:
    value = variants.get_path(parse_json(call.args[0]), _path_elements(call))
    return bind(value, variants.to_text)


_PARSE_JSON = scalar("PARSE_JSON", "str, any", VARIANT, _parse_json, least=1)
_AS_NUMBER = scalar(
    "AS_NUMBER",
    "any, any, any",
    number(38, 0),
    _as_a("DECIMAL", number(38, 0)),
    least=1,
    typed=_as_number_type,
)

FUNCTIONS: tuple[Function, ...] = (
    _PARSE_JSON,
    scalar("TRY_PARSE_JSON", "str, any", VARIANT, _try_parse_json, least=1),
    scalar("CHECK_JSON", "any", VARCHAR, _check_json),
    scalar("TO_JSON", "any", VARCHAR, _to_json),
    scalar("TO_VARIANT", "any", VARIANT, _to_variant),
    scalar("TO_OBJECT", "any", OBJECT, _to_object),
    scalar("TO_ARRAY", "any", ARRAY, _to_array),
    scalar("STRIP_NULL_VALUE", "variant", VARIANT, "CASE WHEN NOT is_variant_null(_0) THEN _0 END"),
    scalar("IS_NULL_VALUE", "variant", BOOLEAN, "CASE WHEN _0 IS NOT NULL THEN is_variant_null(_0) END"),
    scalar("TYPEOF", "any", VARCHAR, _typeof),
    *_PREDICATES,
    *_STRICT_CASTS,
    _AS_NUMBER,
    *alias(_AS_NUMBER, "AS_DECIMAL"),
    scalar("GET", "variant, any", VARIANT, _get),
    scalar("GET_IGNORE_CASE", "variant, str", VARIANT, _get_ignore_case),
    scalar("GET_PATH", "variant, any", VARIANT, _get_path),
    scalar("JSON_EXTRACT_PATH_TEXT", "str, any", VARCHAR, _json_extract_path_text),
    *(refused(f"IS_{kind}", hint) for kind, hint in _NO_SUCH_TYPE.items()),
    *(refused(f"AS_{kind}", hint) for kind, hint in _NO_SUCH_TYPE.items()),
)
