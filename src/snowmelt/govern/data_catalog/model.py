"""A snapshot of what there is to find: products, contracts, tables and views. It travels as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict

AVAILABILITY = {1: "99.9 %", 2: "99.5 %", 3: "99.0 %"}
"""By tier: critical, important, standard."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnEntry(_Entry):
    name: str
    type: str
    nullable: bool = True
    description: str | None = None
    classification: str | None = None
    tags: tuple[str, ...] = ()


class NamedEntry(_Entry):
    database: str
    schema_name: str
    name: str
    description: str | None = None

    @property
    def full_name(self) -> str:
        return f"{self.database}.{self.schema_name}.{self.name}"


class CheckEntry(_Entry):
    """A quality check, and what it said last."""

    name: str
    definition: str
    severity: str
    status: str | None = None
    measured_at: datetime | None = None
    message: str | None = None


class RelationEntry(NamedEntry):
    kind: str
    """TABLE, DYNAMIC TABLE or VIEW."""
    columns: tuple[ColumnEntry, ...] = ()
    reads: tuple[str, ...] = ()
    """Full names of what its query reads."""
    target_lag: str | None = None
    contract: str | None = None
    contract_version: str | None = None
    quality: tuple[CheckEntry, ...] = ()


class ConsumerEntry(_Entry):
    name: str
    contact: str | None = None
    columns: tuple[str, ...] = ()


class ContractEntry(NamedEntry):
    version: str
    versions: tuple[str, ...]
    compatibility: str
    sunsets: tuple[str, ...] = ()
    attached_to: tuple[str, ...] = ()
    consumers: tuple[ConsumerEntry, ...] = ()
    document: str = ""


class ProductEntry(NamedEntry):
    product_owner: str | None = None
    domain: str | None = None
    objects: tuple[str, ...] = ()
    contract: str | None = None
    freshness: str | None = None
    availability_tier: int | None = None
    consumers: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    pii: tuple[str, ...] = ()
    documentation: str | None = None

    @property
    def availability(self) -> str | None:
        return AVAILABILITY.get(self.availability_tier or 0)


class CatalogSnapshot(_Entry):
    taken_at: datetime
    products: tuple[ProductEntry, ...] = ()
    contracts: tuple[ContractEntry, ...] = ()
    relations: tuple[RelationEntry, ...] = ()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls.model_validate_json(text)

    def relation(self, full_name: str) -> RelationEntry | None:
        return next((item for item in self.relations if item.full_name == full_name), None)
