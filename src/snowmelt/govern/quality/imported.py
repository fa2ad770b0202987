"""Checks of other tools, as far as there are the same ones here. What there is not is named, never guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.govern.quality.ddl import statement_of
from snowmelt.govern.quality.documents import sql_value
from snowmelt.govern.quality.expressions import violation
from snowmelt.govern.quality.kinds import build_check
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.quality_model import QualityCheck

_NAME = re.compile(r"\W+")


class UnmappedError(Exception):
    """There is no such check here; says why."""


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A check of the other tool that there is none for here."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Imported:
    statements: tuple[str, ...]
    """ALTER TABLE statements that declare what could be taken over."""
    unmapped: tuple[Unmapped, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A check to be declared, before it has its name."""

    kind: str
    columns: tuple[str, ...] = ()
    expression: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def check(self, name: str, **more: object) -> QualityCheck:
        given = {key: value for key, value in {**self.options, **more}.items() if value is not None}
        return build_check(name, self.kind, self.columns, self.expression, given)

    @property
    def violated(self) -> str:
        """The SQL condition that holds for a row that fails the check."""
        return violation(self.check("C")).sql(dialect="snowflake")


@dataclass(slots=True)
class Collected:
    """The checks of one file, as they are found."""

    statements: list[str] = field(default_factory=list)
    unmapped: list[Unmapped] = field(default_factory=list)
    _names: set[tuple[str, str]] = field(default_factory=set)

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """What is done inside adds checks, or the other tool's one is noted under this name; never half of it."""
        before = len(self.statements)
        try:
            yield
        except UnmappedError as error:
            del self.statements[before:]
            self.unmapped.append(Unmapped(name, str(error)))
        except (KeyError, TypeError, ValueError) as error:
            del self.statements[before:]
            self.unmapped.append(Unmapped(name, f"it is not written as such checks are: {error!r}"))

    def add(self, table: str, wanted: Wanted, name: str | None = None, **more: object) -> None:
        """`table` is its name as SQL; `name` what the other tool calls the check. Raises what is wrong with it."""
        called = self._name(table, name or "_".join((*wanted.columns, wanted.kind)))
        try:
            self.statements.append(statement_of(table, wanted.check(called, **more)))
        except errors.SnowmeltError as error:
            raise UnmappedError(error.message) from None

    def _name(self, table: str, text: str) -> str:
        base = _NAME.sub("_", text).strip("_").upper() or "CHECK"
        base = base if not base[0].isdigit() else f"C_{base}"
        found, number = base, 1
        while (table, found) in self._names:
            number += 1
            found = f"{base}_{number}"
        self._names.add((table, found))
        return found

    def done(self) -> Imported:
        return Imported(tuple(self.statements), tuple(self.unmapped))


# -- what both formats need -------------------------------------------------------------------------------------------


def column_name(text: object) -> str:
    """`order_id` is ORDER_ID, as it is for Snowflake; what is no plain name is taken as it is written."""
    parts = split_name(str(text))
    return parts[0] if parts is not None and len(parts) == 1 else str(text)


def table_name(text: str) -> str:
    """The table's name in SQL."""
    parts = split_name(text)
    if parts is None or len(parts) > 3:
        raise errors.configuration(f"'{text}' is not the name of a table.")
    return ".".join(spelled(part) for part in parts)


def values_of(values: Iterable[object]) -> tuple[str, ...]:
    try:
        return tuple(sql_value(value) for value in values)
    except ValueError as error:
        raise UnmappedError(str(error)) from None


def number_of(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnmappedError(f"{value!r} is not a number")
    return value


def shown(number: float) -> str:
    return repr(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def measured_by(query: str, low: float | None, high: float | None) -> Wanted:
    """A check of one number that a query finds."""
    return Wanted("SQL", expression=query, options=bounds_of(low, high))


def bounds_of(low: float | None, high: float | None) -> dict[str, str]:
    if low is None and high is None:
        raise UnmappedError("it has no bounds")
    given = {"min": low, "max": high}
    return {name: shown(value) for name, value in given.items() if value is not None}


def next_above(value: float, *, counts: bool) -> float:
    """The smallest number that is more than `value`."""
    return math.floor(value) + 1 if counts else math.nextafter(value, math.inf)


def next_below(value: float, *, counts: bool) -> float:
    return math.ceil(value) - 1 if counts else math.nextafter(value, -math.inf)


def any_of(conditions: Sequence[str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions)
