"""Lineage of statements that ran: what they wrote, and from what."""

from __future__ import annotations

from datetime import datetime

from snowmelt.state.record import Record

RecordedLink = tuple[str | None, str | None, tuple[str, ...]]
"""Source column, target column, and how the one takes part in the other."""


class RecordedDataset(Record):
    id: str
    domain: str
    name: tuple[str, ...]
    belongs_to: str = ""


class RecordedSource(Record):
    dataset: RecordedDataset
    links: tuple[RecordedLink, ...] = ()


class WriteRecord(Record):
    """One way in which a table was filled. The same statement again replaces its record."""

    target: RecordedDataset
    digest: str
    """Of the sources and their links: statements that differ in constants alone are the same."""
    operation: str
    process: str | None = None
    """The task that ran the statement, if one did."""
    query_id: str
    written_at: datetime
    sources: tuple[RecordedSource, ...]
