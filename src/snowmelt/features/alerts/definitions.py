"""An alert as the catalog has it."""

from __future__ import annotations

from typing import Literal

from snowmelt.core.kinds import ObjectType
from snowmelt.features.tasks.definitions import RunsAsTask
from snowmelt.state.model import CatalogObject

ALERT = ObjectType("ALERT")


class AlertDefinition(RunsAsTask):
    kind: Literal["ALERT"] = "ALERT"
    runbook: str | None = None


def definition_of(item: CatalogObject) -> AlertDefinition:
    assert isinstance(item.definition, AlertDefinition)
    return item.definition
