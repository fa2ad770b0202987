"""A request to forget a person, what was found, and the record that stays."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum

from pydantic import Field, ValidationError

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.state.record import Record


class ErasureRequest(Record):
    """Who is to be forgotten. It is personal data itself: it is kept until all is done, and no longer."""

    columns: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Values that name the person, by full name of a column: `DB.SCHEMA.TABLE.COLUMN`."""
    values: tuple[str, ...] = ()
    """What names the person wherever it stands."""
    conditions: dict[str, str] = Field(default_factory=dict)
    """Further rows of the person: a condition in SQL by full name of a table."""
    keep: dict[str, str] = Field(default_factory=dict)
    """Tables whose rows must be kept by law, by full name, each with the reason."""
    reason: str = ""
    """Why; goes into the record."""


def read_request(text: str) -> ErasureRequest:
    """Raises with what to write when it can't be read. Values of a column are one text or number, or several."""
    try:
        given = json.loads(text)
        columns = {
            name: tuple(map(str, value)) if isinstance(value, list) else (str(value),)
            for name, value in given.pop("columns", {}).items()
        }
        request = ErasureRequest.model_validate({**given, "columns": columns})
    except (ValueError, AttributeError, ValidationError):
        # The text itself must not be repeated: it names a person.
        raise errors.invalid_value(
            "the request", "request", expected="a JSON object with columns, values, conditions, keep"
        ) from None
    for name in request.columns:
        if len(split_name(name) or ()) < 2:
            raise errors.invalid_value(name, "columns", expected="table.column")
    if not (request.columns or request.values or request.conditions):
        raise errors.invalid_value("nothing", "request", expected="columns with values, values, or conditions")
    return request


class LocationKind(StrEnum):
    """Where something may be, in the order in which they are shown."""

    TABLE = "table"
    DYNAMIC_TABLE = "dynamic table"
    DROPPED_TABLE = "dropped table"
    OLD_VERSIONS = "old versions"
    STATE_STORE = "state store"
    DEFINITION = "definition"
    FILE = "file"
    STREAM = "stream"
    DESTINATION = "destination"


class Found(Record):
    """What one location has of the person."""

    location: LocationKind
    name: str
    rows: int
    """Rows, files, or texts."""
    mentions: int = 0
    """Rows that are about somebody else, and mention the person in a text."""
    how: str = ""
    action: str = ""
    """What forgetting does there; empty where a person has to."""


class Erasure(Record):
    """A request on its way, and the record of one that is done. Has nothing of the person once it is done."""

    id: str
    asked_by: str
    asked_at: datetime
    reason: str = ""
    state: str = "RUNNING"
    """RUNNING, INCOMPLETE (something is left, which `left` names) or DONE."""
    request: ErasureRequest | None = None
    identifiers: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    """Ids of the statements that removed rows."""
    found: tuple[Found, ...] = ()
    """As it was before anything was removed."""
    left: tuple[Found, ...] = ()
    """What the last search found."""
    kept: dict[str, str] = Field(default_factory=dict)
    searched: dict[str, int] = Field(default_factory=dict)
    """How many tables, files and texts the last search looked at."""
    fingerprint: str = ""
    """By which the account can tell, with its key, whether it was about a person who is named again."""
    done_at: datetime | None = None

    def without_person(self) -> Erasure:
        return self.model_copy(update={"request": None, "identifiers": ()})
