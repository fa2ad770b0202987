"""The range of a backfill, and how it is cut into chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

from snowmelt.backfill import errors as backfill_errors
from snowmelt.core.lag import parse_lag
from snowmelt.core.names import literal, quote
from snowmelt.core.types import DataType, Kind

KEYS_IN_A_CHUNK = 500
MOST_CHUNKS = 10_000
_TIMES = {Kind.TIMESTAMP_NTZ: "TIMESTAMP_NTZ", Kind.TIMESTAMP_LTZ: "TIMESTAMP_LTZ", Kind.TIMESTAMP_TZ: "TIMESTAMP_TZ"}
Bound = date | datetime | Decimal


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """The column by which rows are inside or outside."""

    name: str
    type: DataType

    def bound(self, text: str) -> Bound:
        """A value of the column, as a user writes it."""
        kind = self.type.kind
        try:
            if kind is Kind.DATE:
                return date.fromisoformat(text)
            if kind in _TIMES:
                return self._moment(text)
            if kind in (Kind.NUMBER, Kind.FLOAT):
                return _finite(text)
        except (ValueError, InvalidOperation):
            raise backfill_errors.backfill(f"'{text}' is not a value of {self.name}, which is {self.type}.") from None
        raise backfill_errors.backfill(
            f"{self.name} is {self.type}: a range needs a date, a timestamp or a number.",
            hint="Use --keys for a column of another type.",
        )

    @property
    def is_instant(self) -> bool:
        """Whether a value without a time zone is in that of the session."""
        return self.type.kind in (Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ)

    def _moment(self, text: str) -> datetime:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None and not self.is_instant:
            raise backfill_errors.backfill(
                f"'{text}' has a time zone, and {self.name}, which is {self.type}, has none."
            )
        return found

    def sql(self, value: Bound) -> str:
        if isinstance(value, Decimal):
            return format(value, "f")
        text = literal(value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat())
        return f"{text}::{_TIMES.get(self.type.kind, 'DATE')}"

    def key_sql(self, text: str) -> str:
        """A key, by the type of the column."""
        if self.type.kind is Kind.VARCHAR:
            return literal(text)
        return self.sql(self.bound(text))

    def between(self, low: Bound, high: Bound) -> str:
        name = quote(self.name)
        return f"{name} >= {self.sql(low)} AND {name} < {self.sql(high)}"

    def among(self, keys: Sequence[str]) -> str:
        return f"{quote(self.name)} IN ({', '.join(self.key_sql(key) for key in keys)})"


def _finite(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():
        raise ValueError
    return found


def cut_keys(column: RangeColumn, keys: Sequence[str], size: int = KEYS_IN_A_CHUNK) -> list[str]:
    """Conditions, one a chunk; together they hold for every key, and no two for the same one."""
    distinct = list(dict.fromkeys(key.strip() for key in keys if key.strip()))
    if not distinct:
        raise backfill_errors.backfill("The list of --keys is empty.")
    # Different spellings of one key, as 1 and 1.0, must not be in two chunks.
    spelled = {column.key_sql(key) if column.type.kind is Kind.VARCHAR else column.bound(key): key for key in distinct}
    chosen = list(spelled.values())
    return [column.among(chosen[start : start + size]) for start in range(0, len(chosen), size)]


def cut_at(column: RangeColumn, low: Bound, high: Bound, edges: Sequence[Bound]) -> list[str]:
    """Conditions of the chunks between the edges that are inside of the range."""
    # Bounds of one column are of one type.
    inside = sorted({edge for edge in edges if low < edge < high})  # type: ignore[operator]
    bounds = [low, *inside, high]
    return [column.between(*pair) for pair in pairwise(bounds)]


def even_edges(column: RangeColumn, low: Bound, high: Bound, step: str) -> list[Bound]:
    """Where chunks of an even length begin: `1 day`, `6 hours`, or a number for a column of numbers."""
    edges: list[Bound] = []
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        length = _length(step)
        _check_count(math.ceil((high - low) / length))
        edge: Any = low + length
        while edge < high:
            edges.append(edge)
            edge += length
        return edges
    seconds = parse_lag(step)
    if not seconds:
        raise backfill_errors.backfill(f"'{step}' is not a length of time. Write '1 day' or '6 hours'.")
    if column.type.kind is Kind.DATE and seconds % 86_400:
        raise backfill_errors.backfill(f"{column.name} is a date: a chunk must be whole days, such as '7 days'.")
    span = timedelta(seconds=seconds)
    _check_count(math.ceil((high - low) / span))  # type: ignore[operator]
    edge = low + span  # type: ignore[operator]
    while edge < high:
        edges.append(edge)
        edge += span
    return edges


def _length(step: str) -> Decimal:
    try:
        length = Decimal(step)
    except InvalidOperation:
        length = Decimal(0)
    if length <= 0:
        raise backfill_errors.backfill(f"'{step}' is not the length of a chunk of numbers: write 1000, say.")
    return length


def _check_count(chunks: int) -> None:
    if chunks > MOST_CHUNKS:
        raise backfill_errors.backfill(
            f"The range has {chunks} chunks, and at most {MOST_CHUNKS} are allowed: choose longer chunks."
        )


def as_bound(column: RangeColumn, value: Any) -> Bound:
    """A value that a query gave."""
    if isinstance(value, date | datetime):
        return value
    found = column.bound(str(value))
    assert isinstance(found, Decimal)
    return found
