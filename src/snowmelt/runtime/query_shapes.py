"""What repeated queries have in common: the text with the values out that its conditions compare columns with.

Most queries that tools send differ in a key only. Values are taken out where nothing but a comparison can depend on
them: numbers of so many digits, and plain words, right of a column and a comparison. All else is part of the shape, to
the last blank, since columns are named by what is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MOST = 4_000
_TOKEN = re.compile(
    r"""(?P<blank>\s+)|(?P<name>[A-Za-z_][A-Za-z0-9_$]*|"[^"]+")|(?P<number>\d+(?:\.\d+)?(?![A-Za-z0-9_.]))"""
    r"""|(?P<text>'[^'\\]*')|(?P<compared><=|>=|<>|!=|=|<|>)|(?P<other>::|[(),.*+/:\[\]-])"""
)
_ELSEWHERE = ("--", "//", "/*", "''")
"""Comments and quotes inside of quotes, which the tokens above do not know."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}|[1-9][0-9]{0,8}\.[0-9]{0,8}[1-9]")
"""Neither with zeros before nor behind: those change what type it is."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_@-]*")
_SPECIAL = frozenset({"true", "false", "nan", "inf", "infinity", "null", "t", "f", "yes", "no", "y", "n", "on", "off"})
"""Words that casts read as values."""
_FOLLOWED = frozenset({"AND", "OR", "GROUP", "ORDER", "LIMIT", ")"})
_PURE = frozenset({
    "COUNT", "SUM", "MIN", "MAX", "AVG", "COUNT_IF", "ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD", "COALESCE",
    "NVL", "NVL2", "IFF", "IFNULL", "NULLIF", "ZEROIFNULL", "GREATEST", "LEAST", "ABS", "ROUND", "FLOOR", "CEIL",
    "UPPER", "LOWER", "LENGTH", "TRIM", "LTRIM", "RTRIM", "SUBSTR", "SUBSTRING", "CONCAT", "LEFT", "RIGHT", "REPLACE",
    "YEAR", "MONTH", "DAY", "DATE_TRUNC", "CAST", "TRY_CAST", "NUMBER", "DECIMAL", "NUMERIC", "VARCHAR", "CHAR",
    "IN", "AND", "OR", "NOT", "WHERE", "ON", "FROM", "JOIN", "AS", "SELECT", "EXISTS", "BY", "OVER", "HAVING", "WHEN",
    "THEN", "ELSE", "CASE", "UNION", "ALL", "EXCEPT", "INTERSECT", "WITH",
})  # fmt: skip
"""What may stand before `(`: neither time nor chance nor somebody's own function."""
_NEVER = frozenset({
    "AT", "BEFORE", "CHANGES", "SAMPLE", "TABLESAMPLE", "NEXTVAL", "TABLE", "LATERAL", "LOCALTIME", "LOCALTIMESTAMP",
    "SYSDATE", "SYSTIMESTAMP", "INFORMATION_SCHEMA",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryShape:
    text: str
    values: tuple[str, ...]
    """What was taken out, in order; texts without their quotes."""


def shape_of(sql: str) -> QueryShape | None:
    """The shape of a query that may be kept; None for all other statements."""
    if len(sql) > _MOST or not sql[:8].lstrip()[:6].upper().startswith(("SELECT", "WITH")):
        return None
    if any(part in sql for part in _ELSEWHERE):
        return None
    tokens = _tokens(sql)
    if tokens is None or not _is_pure(tokens):
        return None
    solid = [index for index, (kind, _) in enumerate(tokens) if kind != "blank"]
    values: list[str] = []
    parts = [text for _, text in tokens]
    for position, index in enumerate(solid):
        value = _value(*tokens[index])
        if value is not None and _is_compared(tokens, solid, position):
            values.append(value)
            digits = "\x00".join(str(len(part)) for part in value.split("."))
            parts[index] = f"\x00{digits}\x00" if tokens[index][0] == "number" else "\x00"
    return QueryShape("".join(parts), tuple(values))


def _tokens(sql: str) -> list[tuple[str, str]] | None:
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(sql):
        match = _TOKEN.match(sql, position)
        if match is None or match.lastgroup is None:
            return None
        found.append((match.lastgroup, match.group()))
        position = match.end()
    return found


def _is_pure(tokens: list[tuple[str, str]]) -> bool:
    """Whether the text means the same each time it is run."""
    name = ""
    for kind, text in tokens:
        if kind == "blank":
            continue
        if text == "(" and name and name not in _PURE:
            return False
        name = text.upper() if kind == "name" else ""
        if name in _NEVER or name.startswith("CURRENT_"):
            return False
    return True


def _value(kind: str, text: str) -> str | None:
    if kind == "number" and _NUMBER.fullmatch(text):
        return text
    if kind == "text" and _WORD.fullmatch(text[1:-1]) and text[1:-1].lower() not in _SPECIAL:
        return text[1:-1]
    return None


def _is_compared(tokens: list[tuple[str, str]], solid: list[int], position: int) -> bool:
    """Whether a column and a comparison stand before it, and nothing behind it that computes with it."""
    if position < 2 or tokens[solid[position - 1]][0] != "compared" or tokens[solid[position - 2]][0] != "name":
        return False
    return position + 1 == len(solid) or tokens[solid[position + 1]][1].upper() in _FOLLOWED


_IN_DUCK = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[A-Za-z_0-9.]+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShapeTemplate:
    """A text with places for values, made of two texts that differ in nothing else."""

    parts: tuple[str | int, ...]
    """Text, and the numbers of values."""
    fixed: tuple[str | None, ...]
    """What a value has to be, where it was the same in both."""

    def filled(self, values: tuple[str, ...]) -> str | None:
        if any(only is not None and only != value for only, value in zip(self.fixed, values, strict=True)):
            return None
        return "".join(part if isinstance(part, str) else values[part] for part in self.parts)


def template(one: str, values: tuple[str, ...], other: str, others: tuple[str, ...]) -> ShapeTemplate | None:
    """What two translations of one shape are made of; None if they differ in more than their values."""
    left, right = _IN_DUCK.findall(one), _IN_DUCK.findall(other)
    if len(left) != len(right):
        return None
    pairs = list(zip(values, others, strict=True))
    parts: list[str | int] = []
    same: list[str] = []
    used: set[int] = set()
    for a, b in zip(left, right, strict=True):
        if a == b:
            same.append(a)
            continue
        quote = "'" if a.startswith("'") else ""
        matching = [index for index, (x, y) in enumerate(pairs) if (quote + x + quote, quote + y + quote) == (a, b)]
        if len(matching) != 1:
            return None
        parts += ["".join([*same, quote]), matching[0]]
        same = [quote]
        used.add(matching[0])
    parts.append("".join(same))
    if any(x != y and index not in used for index, (x, y) in enumerate(pairs)):
        return None
    return ShapeTemplate(tuple(parts), tuple(x if x == y else None for x, y in pairs))
