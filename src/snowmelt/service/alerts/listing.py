"""Alerts as SHOW and DESCRIBE print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.service.alerts.declared import definition_of
from snowmelt.service.metadata.columns import Row, word
from snowmelt.service.metadata.listing import Listing
from snowmelt.service.metadata.schema_objects import named, of_kind
from snowmelt.service.tasks.standings import BY_ERRORS
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject, ObjectKind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def alerts(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, ObjectKind.ALERT):
        yield described(state, item)


def described(state: StateReader, item: CatalogObject) -> Row:
    definition = definition_of(item)
    standing = state.tasks.standing(item.id)
    return {
        **named(item),
        "kind": "ALERT",
        "warehouse": definition.task.warehouse,
        "schedule": definition.task.schedule,
        "state": "started" if standing.started else "suspended",
        "condition": definition.task.exists,
        "action": definition.task.body,
        "runbook": definition.runbook,
        "config": definition.task.config,
        "was_auto_suspended": word(not standing.started and standing.suspended_reason == BY_ERRORS),
    }


LISTINGS = {"ALERTS": Listing(alerts)}
