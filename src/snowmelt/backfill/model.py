"""What a backfill is asked for, and what it is going to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from snowmelt.core.names import ObjectName, literal, quote

AFTER = "after"
"""Begins the claim that says what a chunk left: its number, its digest, and when."""
CHANGED = "changed"


class StreamPolicy(StrEnum):
    REFUSE = "refuse"
    FOLLOW = "follow"


@dataclass(frozen=True, slots=True)
class BackfillRequest:
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
    streams: StreamPolicy = StreamPolicy.REFUSE
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class BackfillPlan:
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

    def replacing(self, chunk: int, claims: ObjectName) -> str:
        """The script of one chunk: what it replaces is what the old version has, and what it leaves is noted.

        The table is locked first. What others wrote to the chunk since the old version was cloned is put into the
        clone, so that undoing brings back the rows that were there right before.
        """
        condition = self.chunks[chunk]
        return (
            f"{self._locking()}"
            f"LET now VARCHAR := '';\nLET kept VARCHAR := '';\n"
            f"{self._noting('now', str(self.name), chunk)}{self._noting('kept', self.saved, chunk)}"
            "IF (now <> kept) THEN\n"
            f"DELETE FROM {self.saved} WHERE {condition};\n"
            f"INSERT INTO {self.saved} ({self.listed}) SELECT {self.listed} FROM {self.name} WHERE {condition};\n"
            "END IF;\n"
            f"{self._exchanging(chunk, self.source)}"
            f"{self._noting('now', str(self.name), chunk)}"
            f"INSERT INTO {claims} SELECT '{AFTER}/{chunk}/' || :now || '/' || "
            "TO_VARCHAR(CURRENT_TIMESTAMP(), 'YYYY-MM-DD HH24:MI:SS.FF6 TZHTZM');"
        )

    def restoring(self, chunk: int, expected: str | None) -> str:
        """The script that brings the old rows back, if the chunk still has the expected ones; None: whatever it has."""
        guard = "" if expected is None else (
            f"LET now VARCHAR := '';\n{self._noting('now', str(self.name), chunk)}"
            f"IF (now <> {literal(expected)}) THEN\nROLLBACK;\nRETURN '{CHANGED}';\nEND IF;\n"
        )  # fmt: skip
        return f"{self._locking()}{guard}{self._exchanging(chunk, self.saved)}"

    def digest(self, relation: str, chunk: int) -> str:
        """A query for how many rows a chunk has and a hash over them, in no order. NULLs count by their position."""
        parts = ", ".join(f"{quote(name)}, {quote(name)} IS NULL" for name in self.columns)
        return f"SELECT COUNT(*) || ':' || HASH_AGG({parts}) AS DIGEST FROM {relation} WHERE {self.chunks[chunk]}"

    def _locking(self) -> str:
        return f"DELETE FROM {self.name} WHERE FALSE;\n"

    def _noting(self, variable: str, relation: str, chunk: int) -> str:
        return f"SELECT DIGEST INTO :{variable} FROM ({self.digest(relation, chunk)});\n"

    def _exchanging(self, chunk: int, source: str) -> str:
        condition = self.chunks[chunk]
        return (
            f"DELETE FROM {self.name} WHERE {condition};\nLET deleted INT := SQLROWCOUNT;\n"
            f"INSERT INTO {self.name} ({self.listed}) SELECT {self.listed} FROM {source} WHERE {condition};\n"
            "LET inserted INT := SQLROWCOUNT;\nreport := deleted || '/' || inserted;\n"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> BackfillPlan:
        lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})


@dataclass(frozen=True, slots=True)
class AffectedObjects:
    dynamic_tables: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Tables that statements or tasks filled: they do not follow."""


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
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
    downstream: AffectedObjects = field(default_factory=AffectedObjects)
