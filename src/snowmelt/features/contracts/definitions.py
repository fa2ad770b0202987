"""What the state store keeps of a contract."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from snowmelt.core.kinds import ObjectType
from snowmelt.state.record import Definition, Record

CONTRACT = ObjectType("CONTRACT")


class ContractVersion(Record):
    version: str
    """As in the document: 1.4.0."""
    text: str
    """The document."""
    created_on: datetime


class Consumer(Record):
    """Somebody who builds on a contract, and is named when it would break."""

    name: str
    contact: str | None = None
    major: int | None = None
    """The major version they hold to; None for any."""
    columns: tuple[str, ...] = ()
    """What they use; all columns when empty."""
    comment: str | None = None
    added_on: datetime


class ContractDefinition(Definition):
    kind: Literal["CONTRACT"] = "CONTRACT"
    compatibility: str = "BACKWARD"
    versions: tuple[ContractVersion, ...]
    """Ascending. Those of one major number follow from each other; another major number lives beside them."""
    sunsets: dict[int, date] = Field(default_factory=dict)
    """By major number, the last day on which it is promised."""
    consumers: tuple[Consumer, ...] = ()
