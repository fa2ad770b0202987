"""What the state store keeps of a data product."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName
from snowmelt.state.record import Definition

DATA_PRODUCT = ObjectType("DATA PRODUCT")


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
