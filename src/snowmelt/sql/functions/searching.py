"""SEARCH: words in texts. Texts and the searched words are cut at the same delimiters, in lower case."""

from __future__ import annotations

import re

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import BOOLEAN, DataType, Kind
from snowmelt.sql import variants
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.registry import Function, FunctionCall, scalar
from snowmelt.sql.patterns import constant_string

_DELIMITERS = " [];<>(){}|!,'\"*&?+/:=@.-$%\\_\n\r\t"
_MODES = ("OR", "AND", "PHRASE", "EXACT")
_SEPARATOR = "\x01"
"""Stands between words where their order counts: no text has it."""


def _bracketed(*, negated: bool) -> str:
    escaped = "".join(f"\\{letter}" if letter in "[]\\^-&" else letter for letter in _DELIMITERS)
    return f"[{'^' * negated}{escaped}]"


_WORD, _DELIMITER = _bracketed(negated=True) + "+", _bracketed(negated=False)


def _search(call: FunctionCall) -> exp.Expr:
    """TRUE where a text matches, NULL where all are NULL. Columns of other types are passed over."""
    wanted, analyzer, mode = (_constant(call, index, what) for index, what in enumerate(_PARAMETERS))
    if analyzer.upper() == "UNICODE_ANALYZER":
        raise errors.unsupported(f"{call.name} with UNICODE_ANALYZER", hint="Use DEFAULT_ANALYZER.")
    if analyzer.upper() not in ("DEFAULT_ANALYZER", "NO_OP_ANALYZER"):
        raise errors.invalid_value(analyzer, "ANALYZER")
    if mode.upper() not in _MODES:
        raise errors.invalid_value(mode, "SEARCH_MODE")
    texts = [_text(value, type_) for value, type_ in zip(call.args[3:], call.types[3:], strict=True)]
    known = [text for text in texts if text is not None]
    if not known:
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types[3:]))
    whole = analyzer.upper() == "NO_OP_ANALYZER"
    tests = [bind(text, lambda given: _matches(given, wanted, "WHOLE" if whole else mode.upper())) for text in known]
    if len(tests) == 1:
        return tests[0]
    found = exp.or_(*[spark("coalesce(_0, FALSE)", test) for test in tests])
    return spark("CASE WHEN coalesce(_0) IS NOT NULL THEN _1 END", spark("coalesce(_0, _1)", *_folded(known)), found)


_PARAMETERS = ("search_string", "ANALYZER", "SEARCH_MODE")


def _folded(texts: list[exp.Expr]) -> tuple[exp.Expr, exp.Expr]:
    first, *others = texts
    rest = others[0] if len(others) == 1 else spark("coalesce(_0, _1)", *_folded(others))
    return first, rest


def _constant(call: FunctionCall, index: int, what: str) -> str:
    text = constant_string(call.args[index])
    if text is None:
        raise errors.unsupported(f"{call.name} with a {what} that is not a constant text")
    return text


def _text(value: exp.Expr, type_: DataType) -> exp.Expr | None:
    if type_.kind is Kind.VARCHAR or type_.kind is Kind.NULL:
        return value
    return variants.to_text(value) if type_.is_semi_structured else None


def _matches(text: exp.Expr, wanted: str, mode: str) -> exp.Expr:
    """The lower case of constants is Python's, that of texts is Spark's: both are Unicode's."""
    if mode == "WHOLE":
        return spark("_0 = _1", text, string(wanted))
    if mode == "EXACT":
        return spark("lower(_0) RLIKE _1", text, string(_exactly(wanted.lower())))
    words = re.findall(_WORD, wanted.lower())
    if not words:
        return spark("CASE WHEN _0 IS NOT NULL THEN FALSE END", text)
    found = spark("regexp_extract_all(lower(_0), _1, 0)", text, string(_WORD))
    if mode == "PHRASE":
        phrase = string(_SEPARATOR.join(["", *words, ""]))
        return spark("contains(concat(_1, array_join(_0, _1), _1), _2)", found, string(_SEPARATOR), phrase)
    array = exp.Anonymous(this="array", expressions=[string(word) for word in dict.fromkeys(words)])
    if mode == "OR":
        return spark("arrays_overlap(_0, _1)", found, array)
    return spark("if(_0 IS NULL, NULL, size(array_except(_1, _0)) = 0)", found, array)


def _exactly(wanted: str) -> str:
    """A delimiter at an end of what is searched needs none beside it."""
    before = "" if wanted[:1] in _DELIMITERS else f"(?:\\A|{_DELIMITER})"
    behind = "" if wanted[-1:] in _DELIMITERS else f"(?:\\z|{_DELIMITER})"
    literal = "".join(letter if letter.isalnum() else f"\\x{{{ord(letter):x}}}" for letter in wanted)
    return f"(?s){before}{literal}{behind}"


FUNCTIONS: tuple[Function, ...] = (
    scalar(
        "SEARCH", "str, str, str, any", BOOLEAN, _search, variadic=True,
        names="search_string, ANALYZER = 'DEFAULT_ANALYZER', SEARCH_MODE = 'OR'", accepts="list",
    ),
)  # fmt: skip
