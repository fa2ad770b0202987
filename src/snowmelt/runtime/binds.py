"""Values for `?`, `:1` and `:name`: put in as literals, at the token level, so that no value can become SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from snowmelt.core import errors
from snowmelt.sql.tokens import Token, tokenize


@dataclass(frozen=True, slots=True)
class BindTemplate:
    """A text with its placeholders taken out: `pieces` stand before, between and behind them."""

    pieces: tuple[str, ...]
    numbers: tuple[int, ...]
    """The value, counted from 0, that each placeholder takes."""

    def fill(self, values: Sequence[Any]) -> str:
        """The text with its placeholders replaced. Raises when one has no value."""
        filled = [self.pieces[0]]
        for number, piece in zip(self.numbers, self.pieces[1:], strict=True):
            if not 0 <= number < len(values):
                raise errors.compilation("002049", "42601", f"Bind variable {number + 1} not set.")
            filled += (sql_literal(values[number]), piece)
        return "".join(filled)

    @property
    def count(self) -> int:
        """How many values it takes."""
        return max(self.numbers, default=-1) + 1


def template(text: str, names: Mapping[str, int] | None = None) -> BindTemplate:
    """`names` are those of values that have one, in capitals, each with its index; no other name is a placeholder."""
    tokens = tokenize(text).tokens
    pieces: list[str] = []
    numbers: list[int] = []
    position = 0
    used = 0
    for index, token in enumerate(tokens):
        if token.text == "?":
            number, width = used, 1
            used += 1
        else:
            found = _named(tokens, index, names or {})
            if found is None:
                continue
            number, width = found, 1 + len(tokens[index + 1].text)
        pieces.append(text[position : token.start])
        numbers.append(number)
        position = token.start + width
    return BindTemplate((*pieces, text[position:]), tuple(numbers))


def _named(tokens: Sequence[Token], index: int, names: Mapping[str, int]) -> int | None:
    """The value that `:1` or `:name` stands for, if it does for any."""
    if tokens[index].text != ":" or index + 1 == len(tokens) or not _starts_value(tokens, index):
        return None
    following = tokens[index + 1].text
    return int(following) - 1 if following.isdigit() else names.get(following.upper())


def substitute(text: str, values: Sequence[Any], names: Mapping[str, int] | None = None) -> str:
    """The statement with its placeholders replaced. Raises when there are more placeholders than values."""
    return template(text, names).fill(values)


def merged_insert(
    text: str, rows: Sequence[Sequence[Any]], names: Mapping[str, int] | None = None
) -> str | None:  # fmt: skip
    """One INSERT with a row for each of `rows`, where the statement is INSERT … VALUES with one list of values."""
    tokens = [token for token in tokenize(text).tokens if token.text]
    values = next((index for index, token in enumerate(tokens) if token.word == "VALUES"), None)
    if not rows or values is None or tokens[0].word != "INSERT" or not _one_list(tokens[values + 1 :]):
        return None
    end = tokens[values].end
    row = template(text[end:].rstrip().rstrip(";"), names)
    return f"{text[:end]} {', '.join(row.fill(given) for given in rows)}"


def _one_list(tokens: Sequence[Token]) -> bool:
    """Whether the tokens are one pair of parentheses and what is in it."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return all(rest.text == ";" for rest in tokens[index + 1 :]) and token.text == ")"
    return False


@dataclass(frozen=True, slots=True)
class Typed:
    """Text that stands for a value of a type that no Python type means."""

    text: str
    type: str


def _starts_value(tokens: Sequence[Any], index: int) -> bool:
    """`x:1` is a path into a VARIANT, `(:1` and `SELECT :1` are binds."""
    if index == 0 or tokens[index - 1].end < tokens[index].start:
        return True
    before = tokens[index - 1].text
    return not (before[-1:].isalnum() or before[-1:] in "_])\"'$")


def sql_literal(value: Any) -> str:
    """A Python value as Snowflake SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Decimal):
        text = format(value, "f") if isinstance(value, Decimal) else str(value)
        return f"({text})" if value < 0 else text
    if isinstance(value, float):
        return f"'{value!r}'::FLOAT"
    if isinstance(value, bytes | bytearray):
        return f"TO_BINARY('{bytes(value).hex()}', 'HEX')"
    if isinstance(value, datetime):
        kind = "TIMESTAMP_TZ" if value.tzinfo is not None else "TIMESTAMP_NTZ"
        return f"'{value.isoformat(sep=' ')}'::{kind}"
    if isinstance(value, date):
        return f"'{value.isoformat()}'::DATE"
    if isinstance(value, time):
        return f"'{value.isoformat()}'::TIME"
    if isinstance(value, Typed):
        return f"{_quoted(value.text)}::{value.type}"
    if isinstance(value, dict | list | tuple):
        return f"PARSE_JSON({_quoted(json.dumps(value))})"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
