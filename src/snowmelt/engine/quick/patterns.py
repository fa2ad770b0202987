"""Regular expressions on which Java and DuckDB's RE2 agree.

Patterns of literals, classes, groups, alternatives, anchors and plain quantifiers mean the same to both for texts of
printable ASCII: the differences are about line ends, letters beyond ASCII and what RE2 does not have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from snowmelt.engine.quick.types import BOOLEAN, STRING, NotQuick
from snowmelt.engine.quick.values import Function, Value, guarded, literal, repeatable, typed

_BLANK = r"^\s*$"
_BLANK_IN_JAVA = r"[ \t\n\x0B\f\r]*[\x{0085}\x{2028}\x{2029}]?"
"""Java's `$` stands before the last line end too."""
_ESCAPED = r"\\[.\\/+*?()\[\]{}|^$\"'dDwWsS-]"
_ATOM = re.compile(rf"""{_ESCAPED}|[A-Za-z0-9 _,:;'"/@%&=<>~`!-]|\.|\[\^?(?:{_ESCAPED}|[^\[\]\\^&~])+\]|\)""")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??")
_OTHER = re.compile(r"\((?!\?)|\(\?:|[|^$]|\\A|\\z")
_REFERENCE = re.compile(r"\$(\d)(?!\d)")


def is_agreed(pattern: str) -> bool:
    position, quantifiable = 0, False
    while position < len(pattern):
        quantifier = _QUANTIFIER.match(pattern, position)
        if quantifier is not None:
            if not quantifiable:
                return False
            position, quantifiable = quantifier.end(), False
            continue
        atom = _ATOM.match(pattern, position)
        found = atom or _OTHER.match(pattern, position)
        if found is None:
            return False
        position, quantifiable = found.end(), atom is not None
    try:
        _compiled(pattern)
    except re.error:
        return False
    return pattern.isascii()


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(r"\z", r"\Z"))


def _pattern(value: Value) -> str:
    # Which characters end a line: the texts have none of them.
    pattern = None if value.text is None else value.text.removeprefix("(?d)")
    if pattern is None or not is_agreed(pattern):
        raise NotQuick("a regular expression of this kind")
    return pattern


def _printable(text: Value) -> str:
    sql = repeatable(text)
    return guarded(f"{sql} IS NULL OR regexp_full_match({sql}, '[ -~\t]*')", sql, "letters", STRING).sql


def matched(text: Value, pattern: Value) -> Value:
    """`text RLIKE pattern`."""
    typed([text, pattern], STRING, STRING)
    if pattern.text == _BLANK:
        return Value(f"regexp_full_match({text.sql}, '{_BLANK_IN_JAVA}')", BOOLEAN)
    return Value(f"regexp_matches({_printable(text)}, {literal(_pattern(pattern))})", BOOLEAN)


def _matched(arguments: Sequence[Value]) -> Value:
    text, pattern = arguments
    return matched(text, pattern)


def _replaced(arguments: Sequence[Value]) -> Value:
    text, given, replacement = typed(arguments, STRING, STRING, STRING)
    pattern, other = _pattern(given), replacement.text
    if other is None or "\\" in other or "$" in _REFERENCE.sub("", other):
        raise NotQuick("regexp_replace with such a replacement")
    compiled = _compiled(pattern)
    if compiled.search("") is not None or any(int(n) > compiled.groups for n in _REFERENCE.findall(other)):
        raise NotQuick("regexp_replace of what may be empty")
    by = _REFERENCE.sub(r"\\\1", other)
    return Value(f"regexp_replace({_printable(text)}, {literal(pattern)}, {literal(by)}, 'g')", STRING)


def _extracted(arguments: Sequence[Value]) -> Value:
    text, given, *index = arguments
    typed([text, given], STRING, STRING)
    pattern = _pattern(given)
    number = index[0].number if index else 1
    if number is None or not 0 <= number <= _compiled(pattern).groups:
        raise NotQuick("regexp_extract of such a group")
    return Value(f"regexp_extract({_printable(text)}, {literal(pattern)}, {number})", STRING)


PATTERNS: dict[str, Function] = {
    "regexp_extract": _extracted,
    "regexp_like": _matched,
    "regexp_replace": _replaced,
    "rlike": _matched,
}
"""By Spark's name."""
