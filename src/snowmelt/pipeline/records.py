"""Records on their way: batches with the place behind them, and what could not be understood with its reason."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Record = dict[str, Any]


class RejectedRecordError(Exception):
    """The record is set aside as a dead letter, and the rest goes on."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A dead letter: what could not be understood is kept with why, and where in the source it stands."""

    reason: str
    record: Record
    position: str
    readable: bool = True
    """False for what is no record at all: it is under `text`, as it stands in the source."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Batches that together are all that a source holds."""

    number: int
    """1, 2, 3, …"""
    last: bool
    reading: int = 1
    """How often the source was read as a whole, with this time: those of one reading belong together."""


@dataclass(frozen=True, slots=True)
class Batch:
    records: Sequence[Record]
    place: str
    """Behind the last record. It commits with the records: whoever starts anew is given the newest one."""
    origin: str
    """Where they come from, for people: a file, a table."""
    positions: Sequence[str] = ()
    """Of each record within its origin, for people: a row of a file, a key, an offset. Else they are numbered."""
    rejected: Sequence[Rejected] = ()
    """What the extractor itself could not read."""
    whole: Whole | None = None
    """Which part of everything there is; None for what is new alone. Only all of them may replace what there was."""

    def position(self, index: int) -> str:
        return self.positions[index] if self.positions else f"record {index + 1}"


def plain(value: Any) -> Any:
    """A value as JSON holds it: nothing is lost, times are ISO 8601 and exact numbers are text."""
    match value:
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case None | bool() | int() | float() | str():
            return value
    return str(value)
