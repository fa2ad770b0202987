"""An alert as the catalog has it."""

from __future__ import annotations

from snowmelt.state.model import CatalogObject
from snowmelt.state.task_model import AlertDefinition


def definition_of(item: CatalogObject) -> AlertDefinition:
    assert isinstance(item.definition, AlertDefinition)
    return item.definition
