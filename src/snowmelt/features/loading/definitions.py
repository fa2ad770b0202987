"""The kinds that loading brings. Tables have stages of their own, so the state store has the definition of those."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from snowmelt.core.kinds import ObjectType
from snowmelt.state.model import CatalogObject, StageDefinition
from snowmelt.state.record import Definition

STAGE, FILE_FORMAT = ObjectType("STAGE"), ObjectType("FILE FORMAT")


class FileFormatDefinition(Definition):
    kind: Literal["FILE FORMAT"] = "FILE FORMAT"
    type: str
    options: dict[str, str | int | bool | tuple[str, ...] | None] = Field(default_factory=dict)


def stage_of(item: CatalogObject) -> StageDefinition:
    assert isinstance(item.definition, StageDefinition)
    return item.definition


def format_of(item: CatalogObject) -> FileFormatDefinition:
    assert isinstance(item.definition, FileFormatDefinition)
    return item.definition
