"""What a backfill is asked for, and what it is going to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from snowmelt.core.names import ObjectName, quote


class Streams(StrEnum):
    REFUSE = "refuse"
    FOLLOW = "follow"


@dataclass(frozen=True, slots=True)
class Request:
    table: str
    source: str | None
    """A table or view; or else `query`."""
    query: str | None
    at: str | None
    """An earlier moment of the source."""
    column: str
    start: str | None = None
    end: str | None = None
    keys: tuple[str, ...] = ()
    chunk: str | None = None
    """The length of a chunk; by rows when it is not said."""
    chunk_rows: int = 1_000_000
    streams: Streams = Streams.REFUSE
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run needs to know. It is made once, and kept in the journal."""

    run: str
    table: tuple[str, str, str]
    columns: tuple[str, ...]
    source: str
    """What stands in FROM: rows of the target's columns."""
    pinned: str | None
    """The moment as of which the source is read; None when it is read as it is at each chunk."""
    within: str
    """The condition of the whole range."""
    chunks: tuple[str, ...]
    """The condition of each."""
    saved: str
    """The clone with the old version."""
    leaves: tuple[str, ...] = ()
    """Dynamic tables that are refreshed at the end."""

    @property
    def name(self) -> ObjectName:
        return ObjectName(*self.table)

    @property
    def listed(self) -> str:
        return ", ".join(map(quote, self.columns))

    def replacing(self, chunk: int) -> tuple[str, str]:
        """The statements of one chunk, which belong into one transaction."""
        return self._statements(chunk, self.source)

    def restoring(self, chunk: int) -> tuple[str, str]:
        return self._statements(chunk, self.saved)

    def _statements(self, chunk: int, source: str) -> tuple[str, str]:
        condition = self.chunks[chunk]
        return (
            f"DELETE FROM {self.name} WHERE {condition}",
            f"INSERT INTO {self.name} ({self.listed}) SELECT {self.listed} FROM {source} WHERE {condition}",
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Plan:
        lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})


@dataclass(frozen=True, slots=True)
class Downstream:
    dynamic_tables: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Tables that statements or tasks filled: they do not follow."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a dry run tells."""

    rows_now: int
    rows_then: int
    chunks: int
    seconds: float
    refresh_seconds: float
    credits: float
    cost: float
    basis: str
    """Where the rate comes from."""
    downstream: Downstream = field(default_factory=Downstream)
