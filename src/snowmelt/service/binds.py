"""Values for `?` and `:1`: put in as literals, at the token level, so that no value can become SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from snowmelt.core import errors
from snowmelt.sql.tokens import tokenize


def substitute(text: str, values: Sequence[Any]) -> str:
    """The statement with its placeholders replaced. Raises when there are more placeholders than values."""
    source = tokenize(text)
    pieces: list[str] = []
    position = 0
    used = 0
    tokens = source.tokens
    for index, token in enumerate(tokens):
        if token.text == "?":
            number, width = used, 1
            used += 1
        elif (
            token.text == ":"
            and index + 1 < len(tokens)
            and tokens[index + 1].text.isdigit()
            and _starts_value(tokens, index)
        ):
            number, width = int(tokens[index + 1].text) - 1, 1 + len(tokens[index + 1].text)
        else:
            continue
        if not 0 <= number < len(values):
            raise errors.compilation("002049", "42601", f"Bind variable {number + 1} not set.")
        pieces.append(text[position : token.start])
        pieces.append(sql_literal(values[number]))
        position = token.start + width
    return "".join([*pieces, text[position:]])


def _starts_value(tokens: Sequence[Any], index: int) -> bool:
    """`x:1` is a path into a VARIANT, `(:1` is a bind."""
    if index == 0:
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
    if isinstance(value, dict | list | tuple):
        return f"PARSE_JSON({_quoted(json.dumps(value))})"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
