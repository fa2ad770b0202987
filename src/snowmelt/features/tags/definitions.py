"""Tags: names with values that somebody puts on tables, columns, schemas and databases."""

from __future__ import annotations

from typing import Literal

from snowmelt.core.kinds import ObjectType
from snowmelt.state.record import Definition

TAG = ObjectType("TAG")


class TagDefinition(Definition):
    kind: Literal["TAG"] = "TAG"
    allowed_values: tuple[str, ...] | None = None
    """None for any value."""
