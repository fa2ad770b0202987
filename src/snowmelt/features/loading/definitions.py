"""The kinds that loading brings. INFORMATION_SCHEMA has views of them, so the state store has their definitions."""

from __future__ import annotations

from snowmelt.core.kinds import ObjectType
from snowmelt.state.model import CatalogObject, FileFormatDefinition, StageDefinition

STAGE, FILE_FORMAT = ObjectType("STAGE"), ObjectType("FILE FORMAT")


def stage_of(item: CatalogObject) -> StageDefinition:
    assert isinstance(item.definition, StageDefinition)
    return item.definition


def format_of(item: CatalogObject) -> FileFormatDefinition:
    assert isinstance(item.definition, FileFormatDefinition)
    return item.definition
