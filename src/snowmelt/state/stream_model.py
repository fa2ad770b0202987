"""Streams: what the user declared, and the offset that consumption moves."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from snowmelt.core.names import ObjectName
from snowmelt.state.record import Definition, Record


class StreamMode(StrEnum):
    DEFAULT = "DEFAULT"
    """Inserts, updates and deletions, netted per row."""
    APPEND_ONLY = "APPEND_ONLY"
    """Every inserted row, also one that was deleted again."""
    INSERT_ONLY = "INSERT_ONLY"
    """As APPEND_ONLY, for tables that other tools own."""


class StreamDefinition(Definition):
    kind: Literal["STREAM"] = "STREAM"
    source_id: str
    source_name: ObjectName
    """As it was called when the stream was created: shown once the source is gone."""
    source_type: Literal["Table", "View", "Dynamic Table", "External Table"] = "Table"
    mode: StreamMode = StreamMode.DEFAULT
    show_initial_rows: bool = False


class StreamState(Record):
    """Where a stream stands. Two that are equal have consumed the same."""

    stream_id: str
    offsets: dict[str, int] = Field(default_factory=dict)
    """The version of every base table up to which changes are consumed, by table id."""
    offset_at: datetime
    """The instant that the offsets belong to."""
    initial: bool = False
    """SHOW_INITIAL_ROWS, and they are not consumed yet."""
    renewed_at: datetime
    """When it was last consumed, or known to be empty: staleness counts from here."""
    fingerprint: str = ""
    """Of the views that it reads: when they mean something else, the offset means nothing."""
