"""Contracts, what they are attached to, and data products: what the user declared."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName
from snowmelt.state.record import Definition, Record

CONTRACT, DATA_PRODUCT = ObjectType("CONTRACT"), ObjectType("DATA PRODUCT")


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


class ContractLink(Record):
    """A table or view that is held to a contract."""

    object_id: str
    contract_id: str
    major: int
    described: str
    """Which of the contract's tables it is."""


class DataProductDefinition(Definition):
    kind: Literal["DATA PRODUCT"] = "DATA PRODUCT"
    objects: tuple[ObjectName, ...] = ()
    """Tables and views that the product consists of."""
    contract: ObjectName | None = None
    product_owner: str | None = None
    """Whom to ask; the owner of the object itself is a role."""
    domain: str | None = None
    consumers: tuple[str, ...] = ()
    freshness: int | None = None
    """Seconds that the data may be behind."""
    availability_tier: int | None = None
    documentation: str | None = None
    tags: dict[str, str] = Field(default_factory=dict)
    pii: tuple[str, ...] = ()
    """Classes of personal data that it holds."""
