"""Alerts as SHOW, DESCRIBE and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core.names import literal
from snowmelt.features.alerts.definitions import ALERT, definition_of
from snowmelt.features.tasks.ddl import ended, ends_in_comment
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.standings import BY_ERRORS
from snowmelt.runtime.metadata.columns import Columns, Row, columns, word
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, owner, comment, warehouse, schedule, state, condition, action, "
    "owner_role_type, runbook, config, was_auto_suspended"
)
TERSE = columns("created_on:ts, name, kind, database_name, schema_name, schedule, state")


def alerts(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, ALERT):
        yield _row(state, item)


def described(run: Run, state: StateReader, item: CatalogObject) -> tuple[Columns, list[Row]]:
    return COLUMNS, [_row(state, item)]


def _row(state: StateReader, item: CatalogObject) -> Row:
    definition = definition_of(item)
    standing = state[TaskRecords].standing(item.id)
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


def ddl(item: CatalogObject, qualified: bool) -> str:
    definition = definition_of(item)
    task = definition.task
    texts = {"schedule": task.schedule, "config": task.config, "runbook": definition.runbook, "COMMENT": item.comment}
    lines = [] if task.warehouse is None else [f"warehouse={spelled(task.warehouse)}"]
    lines += [f"{name}={literal(value)}" for name, value in texts.items() if value is not None]
    if task.suspend_after_failures is not None:
        lines.append(f"SUSPEND_ALERT_AFTER_NUM_FAILURES={task.suspend_after_failures}")
    lines.append(
        f"if (exists({task.exists}\n))" if ends_in_comment(task.exists or "") else f"if (exists({task.exists}))"
    )
    head = f"create or replace alert {object_name(item.name, qualified=qualified)}"
    return head + "".join(f"\n\t{line}" for line in lines) + f"\n\tthen {ended(task.body)}"
