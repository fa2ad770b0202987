"""Streams: what the user declared."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName
from snowmelt.state.record import Definition

STREAM = ObjectType("STREAM")


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
