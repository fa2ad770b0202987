"""What a query or a statement does with columns: from which sources each of its columns is made, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Influence(StrEnum):
    """How a source column takes part. The words are OpenLineage's, whose transformation subtypes these are."""

    IDENTITY = "IDENTITY"
    """The value itself."""
    TRANSFORMATION = "TRANSFORMATION"
    """The value goes into an expression."""
    AGGREGATION = "AGGREGATION"
    """Values of several rows go into one."""
    CONDITIONAL = "CONDITIONAL"
    """It decides which value is taken: a condition of CASE, IFF, …"""
    WINDOW = "WINDOW"
    """It says which rows a window function looks at, and in what order."""
    FILTER = "FILTER"
    """It decides which rows there are."""
    JOIN = "JOIN"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"

    @property
    def direct(self) -> bool:
        """Whether the value itself flows."""
        return self in _DIRECT


_DIRECT = (Influence.IDENTITY, Influence.TRANSFORMATION, Influence.AGGREGATION)
"""From the weakest change of the value to the strongest."""


@dataclass(frozen=True, slots=True, order=True)
class FlowColumn:
    source: str
    """What the column belongs to, as whoever asked called it."""
    column: str


Origins = Mapping[FlowColumn, frozenset[Influence]]
"""The source columns of one value, each with every way in which it takes part."""
NO_ORIGINS: Origins = {}


@dataclass(frozen=True, slots=True)
class OutputFlow:
    """One output column."""

    name: str
    origins: Origins


@dataclass(frozen=True, slots=True)
class QueryFlow:
    """A query: where its columns come from, and what else decides its rows."""

    outputs: tuple[OutputFlow, ...]
    rows: Origins = field(default_factory=dict)
    """Columns that decide which rows there are, or their order: they concern every output."""
    sources: frozenset[str] = frozenset()
    """Everything that is read, also where no column of it is used, as in COUNT(*)."""


def combined(*parts: Origins) -> Origins:
    """The origins of a value that several parts make up."""
    found: dict[FlowColumn, frozenset[Influence]] = {}
    for part in parts:
        for column, influences in part.items():
            found[column] = found.get(column, frozenset()) | influences
    return found


def through(origins: Origins, step: Influence) -> Origins:
    """The origins after one more step: a sum of a product is an aggregation, a condition on a sum is a condition."""
    return {
        column: frozenset(_stronger(influence, step) for influence in influences)
        for column, influences in origins.items()
    }


def _stronger(inner: Influence, step: Influence) -> Influence:
    if not step.direct:
        return step
    if not inner.direct:
        return inner
    return max(inner, step, key=_DIRECT.index)
