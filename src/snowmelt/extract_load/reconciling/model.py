"""What is compared, and what came out of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from snowmelt.extract_load.transforming import pii_key, pseudonym

Key = tuple[str, ...]
"""The values of a key as text, which is the same for the same value wherever it was read."""
Difference = Literal["missing", "different", "extra"]
_ALL = "all"
"""The day of rows that have none."""


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table of a source, and the table here that must hold the same."""

    flow: str
    table: str
    """Here."""
    key: tuple[str, ...]
    day: str | None = None
    """The column by whose day rows are counted; without one all rows are one day."""
    zoned: bool = False
    """Whether that column has a time zone; days are those of UTC."""
    sums: tuple[str, ...] = ()
    """Columns of exact numbers."""
    hashed: tuple[str, ...] = ()
    """Key columns that are hidden here."""
    hidden_as: str | None = None
    """How: `hash` or `tokenise`, with the key of the environment; None for a hash without a key."""
    complete: bool = True
    """Whether rows that the source no longer has must not be here. Neither files nor a change column tell that."""
    quarantine: str | None = None
    """Where gates keep rows that they did not let into the table."""
    condition: str | None = None
    """Which rows here count: the current versions, say."""
    called: Mapping[str, str] = field(default_factory=dict)
    """Columns that have other names here."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, *self.sums, *([self.day] if self.day else []))


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """Of one row what is compared."""

    day: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DayTotals:
    rows: int
    sums: tuple[str, ...]


@dataclass(slots=True)
class Reconciliation:
    """How a table differs from its source; nothing in it when it does not."""

    compared: ComparedTable
    source_rows: int = 0
    table_rows: int = 0
    days: tuple[str, ...] = ()
    """Those on which counts or sums differed at first."""
    differences: dict[Key, Difference] = field(default_factory=dict)
    repaired: int = 0
    """Rows that were fetched, since they had been committed behind the place."""

    @property
    def breaches(self) -> int:
        """Extra rows count only where deletions are followed."""
        ignored = () if self.compared.complete else ("extra",)
        return sum(kind not in ignored for kind in self.differences.values())

    def count(self, kind: Difference) -> int:
        return sum(found == kind for found in self.differences.values())

    def examples(self, number: int = 10) -> list[dict[str, Any]]:
        return [
            {"key": dict(zip(self.compared.key, key, strict=True)), "difference": kind}
            for key, kind in list(self.differences.items())[:number]
        ]


def canonical(value: Any) -> str:
    """The same text for the same value, whether a database, JSON or SQL here gave it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        return moment.isoformat(timespec="microseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, int | float | Decimal):
        return _number(Decimal(str(value)))
    return str(value)


def _number(value: Decimal) -> str:
    return f"{value.normalize():f}" if value else "0"


def number_text(value: Any) -> str:
    """Of a column of numbers, which JSON and CSV may give as text."""
    if value is None or value == "":
        return ""
    try:
        return _number(Decimal(str(value)))
    except InvalidOperation:
        return str(value)


def day_text(value: Any) -> str:
    """The day of a time in UTC."""
    if value is None or value == "":
        return _ALL
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            return str(value)[:10]
    return canonical(value)[:10] if isinstance(value, dt.date) else _ALL


def row_of(compared: ComparedTable, values: Mapping[str, Any], *, hash_keys: bool) -> tuple[Key, ComparedRow]:
    key = tuple(
        number_text(values.get(name)) if name in compared.sums
        else _key_text(compared, name, values.get(name), hash_keys=hash_keys)
        for name in compared.key
    )  # fmt: skip
    sums = tuple(number_text(values.get(name)) for name in compared.sums)
    return key, ComparedRow(day_text(values.get(compared.day)) if compared.day else _ALL, sums)


def _key_text(compared: ComparedTable, name: str, value: Any, *, hash_keys: bool) -> str:
    if hash_keys and name in compared.hashed and value is not None:
        return pseudonym(value, compared.hidden_as or "hash", pii_key() if compared.hidden_as else None)
    return canonical(value)


def totals(rows: Iterable[ComparedRow], width: int) -> dict[str, DayTotals]:
    """Counts and sums by day."""
    counts: dict[str, int] = {}
    sums: dict[str, list[Decimal]] = {}
    for row in rows:
        counts[row.day] = counts.get(row.day, 0) + 1
        of_day = sums.setdefault(row.day, [Decimal(0)] * width)
        for index, text in enumerate(row.values):
            try:
                of_day[index] += Decimal(text or 0)
            except InvalidOperation:
                continue
    return {day: DayTotals(count, tuple(map(_number, sums[day]))) for day, count in counts.items()}


def differing_days(source: Mapping[str, DayTotals], table: Mapping[str, DayTotals]) -> list[str]:
    return sorted(day for day in source.keys() | table.keys() if source.get(day) != table.get(day))


def compare_rows(
    source: Mapping[Key, ComparedRow], table: Mapping[Key, ComparedRow], keys: Sequence[Key] | None = None
) -> dict[Key, Difference]:
    """Of the keys that are given, or of all."""
    found: dict[Key, Difference] = {}
    for key in keys if keys is not None else [*source, *(key for key in table if key not in source)]:
        if key not in table and key in source:
            found[key] = "missing"
        elif key not in source and key in table:
            found[key] = "extra"
        elif key in source and source[key] != table[key]:
            found[key] = "different"
    return found
