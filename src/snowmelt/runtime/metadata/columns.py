"""Column lists of metadata results, and results made from rows that name their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.runtime.results import Result, ResultColumn, table_result

Row = Mapping[str, Any]
Columns = tuple[ResultColumn, ...]

MILLISECONDS = replace(types.TIMESTAMP_LTZ, precision=3)
"""Instants in metadata have three fractional digits, as Snowflake's have."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS: dict[str, DataType] = {
    "ts": MILLISECONDS,
    "n": types.INTEGER,
    "bool": types.BOOLEAN,
    "array": types.ARRAY,
    "name": types.varchar(134_217_728),
    "flag": types.varchar(3),
    "none": types.varchar(0),
}


def columns(text: str, plain: DataType = types.VARCHAR) -> Columns:
    """Columns from `name, created_on:ts, rows:n, …`; those without a word have the type `plain`.

    Words: `ts` an instant, `n` a whole number, `bool`, `array`, `name` a long text, `flag` YES or NO, `none` a
    standard's column that is always NULL; any type as DESCRIBE prints it.
    """
    found: list[ResultColumn] = []
    for item in text.split(", "):
        name, _, word = item.strip().partition(":")
        found.append(ResultColumn(name, _type(word, plain)))
    return tuple(found)


def _type(word: str, plain: DataType) -> DataType:
    if not word:
        return plain
    known = _WORDS.get(word)
    if known is not None:
        return known
    parsed = types.parse_type(word)
    if parsed is None:
        raise ValueError(f"unknown type word {word!r}")
    return replace(parsed, int64=parsed.is_number and parsed.scale == 0)


def cells(layout: Sequence[ResultColumn], rows: Iterable[Row]) -> list[list[Any]]:
    """The rows' values in the layout's order; what a row does not mention is NULL."""
    names = [column.name for column in layout]
    instants = [index for index, column in enumerate(layout) if column.type == MILLISECONDS]
    found: list[list[Any]] = [[row.get(name) for name in names] for row in rows]
    for values in found:
        for index in instants:
            if values[index] is not None:
                values[index] = _to_milliseconds(values[index])
    return found


def _to_milliseconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def result(layout: Sequence[ResultColumn], rows: Iterable[Row], statement_type: str) -> Result:
    return table_result(layout, cells(layout, rows), statement_type=statement_type)


def yes(flag: bool) -> str:
    """Y or N, the most common spelling of a flag."""
    return "Y" if flag else "N"


def word(flag: bool) -> str:
    return "true" if flag else "false"


def switch(flag: bool) -> str:
    return "ON" if flag else "OFF"


def long_yes(flag: bool) -> str:
    """YES or NO, as INFORMATION_SCHEMA spells flags."""
    return "YES" if flag else "NO"
