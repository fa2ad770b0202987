"""Functions that cut text into parts."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.portable_functions import PREFIX
from snowmelt.core.types import ARRAY, OBJECT, VARCHAR
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import integer, spark, string
from snowmelt.sql.functions.arguments import constant_integer, small_integer
from snowmelt.sql.functions.registry import FunctionCall, scalar
from snowmelt.sql.patterns import constant_string

_BRACKET_META = "\\[]^-&"
_URL = (
    r"(?s)\A([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*?)(?::([0-9]+))?(?=[/?#]|\z))?([^?#]*)"
    r"(?:[?]([^#]*))?(?:#(.*))?\z"
)
_NO_SCHEME = "scheme not specified"


def _split(call: FunctionCall) -> exp.Expr:
    """Spark splits by a regular expression: the separator is escaped. An empty one splits nothing."""
    text = constant_string(call.args[1])
    if text is not None:
        if not text:
            return _whole(call.args[0])
        escaped = "".join(f"\\{letter}" if letter in "\\.[]{}()*+?^$|" else letter for letter in text)
        return spark("CAST(split(_0, _1, -1) AS VARIANT)", call.args[0], string(escaped))
    escape = spark("regexp_replace(_0, _1, _2)", call.args[1], string(r"([\\.\[\]{}()*+?^$|])"), string(r"\\$1"))
    return spark(
        "CASE WHEN _1 = '' THEN _3 ELSE CAST(split(_0, _2, -1) AS VARIANT) END",
        call.args[0], call.args[1], escape, _whole(call.args[0]),
    )  # fmt: skip


def _whole(text: exp.Expr) -> exp.Expr:
    return spark("CASE WHEN _0 IS NOT NULL THEN CAST(array(_0) AS VARIANT) END", text)


def _split_part(call: FunctionCall) -> exp.Expr:
    constant = constant_integer(call, 2, 1)
    part = small_integer(call, 2)
    if constant is None:
        part = bind(part, lambda number: spark("CASE WHEN _0 = 0 THEN 1 ELSE _0 END", number))
    elif constant == 0:
        part = integer(1)
    return spark("split_part(_0, _1, _2)", call.args[0], call.args[1], part)


def _tokens(call: FunctionCall) -> exp.Expr:
    """The longest runs of characters that are no delimiters, as a Spark array."""
    delimiters = constant_string(call.args[1]) if len(call.args) > 1 else " "
    if delimiters is not None:
        escaped = "".join(f"\\{letter}" if letter in _BRACKET_META else letter for letter in delimiters)
        pattern = f"[^{escaped}]+" if escaped else "(?s).+"
        return spark("regexp_extract_all(_0, _1, 0)", call.args[0], string(pattern))
    return spark(
        "regexp_extract_all(_0, CASE WHEN _1 = '' THEN '(?s).+' "
        "ELSE concat('[^', regexp_replace(_1, _2, _3), ']+') END, 0)",
        call.args[0], call.args[1], string(r"([\\\[\]^&-])"), string(r"\\$1"),
    )  # fmt: skip


def _strtok(call: FunctionCall) -> exp.Expr:
    part = small_integer(call, 2) if len(call.args) > 2 else integer(1)
    return spark("get(_0, _1 - 1)", _tokens(call), part)


def _strtok_to_array(call: FunctionCall) -> exp.Expr:
    tokens = spark("CAST(_0 AS VARIANT)", _tokens(call))
    if len(call.args) < 2 or constant_string(call.args[1]):
        return tokens
    return spark("CASE WHEN _0 <> '' OR _1 <> '' THEN _2 END", call.args[0], call.args[1], tokens)


def _parse_url(call: FunctionCall) -> exp.Expr:
    """An OBJECT of the URL's parts, with JSON null for those that are missing."""
    permissive = constant_integer(call, 1, 0)
    if permissive not in (0, 1):
        raise errors.unsupported("PARSE_URL with a second argument that is not the constant 0 or 1")

    def build(url: exp.Expr) -> exp.Expr:
        scheme, host, port, path, query, fragment = (
            spark("regexp_extract(_0, _1, _2)", url, string(_URL), integer(group)) for group in range(1, 7)
        )
        parameters = spark(
            "CASE WHEN _0 <> '' THEN map_from_entries(transform("
            "filter(split(_0, '&'), sm_pair -> sm_pair <> ''), "
            "sm_pair -> struct(_1, substring(sm_pair, length(_1) + 2)))) END",
            query,
            spark("split_part(sm_pair, '=', 1)"),
        )
        parts = spark(
            "parse_json(to_json(named_struct('fragment', nullif(_0, ''), 'host', nullif(_1, ''), "
            "'parameters', _2, 'path', CASE WHEN startswith(_3, '/') THEN substring(_3, 2) ELSE _3 END, "
            "'port', nullif(_4, ''), 'query', nullif(_5, ''), 'scheme', lower(_6)), "
            "map('ignoreNullFields', 'false')))",
            fragment, host, parameters, path, port, query, scheme,
        )  # fmt: skip
        failed = fail("100139", "22000", f"Error parsing URL: {_NO_SCHEME}")
        if permissive:
            failed = spark("parse_json(_0)", string(f'{{"error": "{_NO_SCHEME}"}}'))
        return spark("CASE WHEN _0 RLIKE _1 THEN _2 WHEN _0 IS NOT NULL THEN _3 END", url, string(_URL), parts, failed)

    return bind(call.args[0], build)


def _parse_ip(call: FunctionCall) -> exp.Expr:
    """An OBJECT of the address's parts; with the third argument 1 one with the key `error` in place of an error."""
    kind = (call.literal(1) or "").lower()
    if kind not in ("inet", "cidr"):
        raise errors.invalid_value(call.literal(1) or "", "type")
    permissive = constant_integer(call, 2, 0)
    if permissive not in (0, 1):
        raise errors.unsupported("PARSE_IP with a third argument that is not the constant 0 or 1")
    parts = spark_call(f"{PREFIX}parse_ip", call.args[0], string(kind))
    if permissive:
        return spark("parse_json(_0)", parts)
    # A lambda may not call Python: what it gives is bound, not the call.
    return bind(parts, _address_or_error)


def _address_or_error(parts: exp.Expr) -> exp.Expr:
    problem = spark("get_json_object(_0, '$.error')", parts)
    error = fail("001008", "22023", "Error parsing IP address: ", problem)
    return spark("if(_0 IS NULL, parse_json(_1), CAST(_2 AS VARIANT))", problem, parts, error)


FUNCTIONS = (
    scalar("PARSE_URL", "str, int", OBJECT, _parse_url, least=1),
    scalar("PARSE_IP", "str, word, int", OBJECT, _parse_ip, least=2),
    scalar("SPLIT", "str, str", ARRAY, _split),
    scalar("SPLIT_PART", "str, str, int", VARCHAR, _split_part),
    scalar("STRTOK", "str, str, int", VARCHAR, _strtok, least=1),
    scalar("STRTOK_TO_ARRAY", "str, str", ARRAY, _strtok_to_array, least=1),
)
