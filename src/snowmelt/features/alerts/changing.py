"""CREATE, ALTER, DROP and EXECUTE of alerts. How they run is how tasks run: an alert is a graph of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.alerts.definitions import ALERT, AlertDefinition, definition_of
from snowmelt.features.alerts.statements import AlertOptions, CreateAlert, ModifyAction, ModifyCondition
from snowmelt.features.tasks import declaring, runs, standings
from snowmelt.features.tasks.changing import forget_waiting
from snowmelt.features.tasks.definitions import ScheduledFrom, TaskDefinition
from snowmelt.features.tasks.graph import GraphTask, TasksOfSchema
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.features.tasks.statements import TaskOptions
from snowmelt.runtime import schema_objects
from snowmelt.runtime.metadata.scopes import existing_schema
from snowmelt.sql.statements.base import Action, NameRef, Query
from snowmelt.sql.statements.calls import Call
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.sql.tokens import SqlText
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_LONGEST_RUNBOOK = 2048
_TASK_FIELDS = {
    "WAREHOUSE": "warehouse",
    "SCHEDULE": "schedule",
    "CONFIG": "config",
    "SUSPEND_ALERT_AFTER_NUM_FAILURES": "suspend_after_failures",
}


# -- CREATE -----------------------------------------------------------------------------------------------------------


def create(run: Run, statement: CreateAlert) -> str:
    """What the answer says. A new alert is suspended, and so is one that takes another's place."""
    name = run.object_name(statement.name, "CREATE ALERT")
    with run.state.begin() as state:
        existing_schema(state, name)
        existing = state.catalog.find(name, [ALERT])
        if existing is not None and statement.if_not_exists:
            return f"{quote(name.name)} already exists, statement succeeded."
        if existing is not None and not (statement.or_replace or statement.or_alter):
            raise errors.already_exists(run.written(statement.name))
        definition, comment = _wanted(run, state, statement)
        if existing is not None and statement.or_alter:
            _put(state, existing, definition, comment)
            return f"Alert {quote(name.name)} successfully altered."
        if existing is not None:
            dropped(state, existing)
            state.catalog.drop(existing.id, state.now)
        state.catalog.create(
            CatalogObject(
                id=new_id(), name=name, owner=run.session.role, comment=comment, created_on=state.now,
                altered_on=state.now, definition=definition,
            )
        )  # fmt: skip
    return f"Alert {quote(name.name)} successfully created."


def _wanted(run: Run, state: StateReader, statement: CreateAlert) -> tuple[AlertDefinition, str | None]:
    if statement.clone is not None:
        source = schema_objects.require(run, state, ALERT, statement.clone.name)
        return definition_of(source), source.comment
    assert statement.condition is not None and statement.action is not None
    _check_condition(statement.condition)
    declaring.check_body(statement.action)
    task = TaskDefinition(body=statement.action.text.strip(), exists=statement.condition.text.strip())
    empty = AlertDefinition(task=task)
    return _with_options(run, state, empty, statement.options), statement.options.comment


def _check_condition(condition: SqlText) -> None:
    if not isinstance(parse_statement(condition), Query | ShowStatement | Call):
        raise errors.compilation(
            "001003", "42000", "The condition of an alert must be a SELECT, SHOW or CALL statement.",
            hint="Write IF (EXISTS (SELECT …)) THEN ….",
        )  # fmt: skip


def _with_options(run: Run, state: StateReader, before: AlertDefinition, options: AlertOptions) -> AlertDefinition:
    as_task = TaskOptions(
        warehouse=options.warehouse, schedule=options.schedule, config=options.config,
        suspend_task_after_num_failures=options.suspend_alert_after_num_failures,
    )  # fmt: skip
    declaring.check_alone(run, state, as_task, ())
    given = options.given()
    values = {field: given[option] for option, field in _TASK_FIELDS.items() if option in given}
    if options.warehouse is not None:
        values["warehouse"] = run.parts(options.warehouse)[-1]
    task = before.task.model_copy(update=values)
    declaring.check(task, as_task)
    if task.schedule is None:
        raise errors.unsupported(
            "alerts on new data (without SCHEDULE)",
            hint="Write SCHEDULE = '1 MINUTE', or look at a stream in the condition.",
        )
    runbook = options.runbook if options.runbook is not None else before.runbook
    if runbook is not None and len(runbook) > _LONGEST_RUNBOOK:
        raise errors.invalid_value(f"{runbook[:40]}…", "RUNBOOK")
    return AlertDefinition(task=task, runbook=runbook)


def _put(state: StateTransaction, item: CatalogObject, definition: AlertDefinition, comment: str | None) -> None:
    state.catalog.update(
        item.model_copy(update={"definition": definition, "comment": comment, "altered_on": state.now})
    )


# -- ALTER, DROP ------------------------------------------------------------------------------------------------------


def alter(run: Run, name: NameRef, action: Action, *, if_exists: bool) -> None:
    with run.state.begin() as state:
        item = schema_objects.find(run, state, ALERT, name)
        if item is None:
            if if_exists:
                return
            raise schema_objects.missing(run, ALERT, name)
        node = GraphTask(item, state[TaskRecords].standing(item.id))
        if isinstance(action, Resume):
            standings.resume(state, TasksOfSchema(item.name.parent, {item.name.name: node}), node)
        elif isinstance(action, Suspend):
            if node.standing.started or node.standing.suspended_on is None:
                standings.suspend(state, item.id)
        else:
            _put(state, item, *_changed(run, state, item, action))


def _changed(run: Run, state: StateReader, item: CatalogObject, action: Action) -> tuple[AlertDefinition, str | None]:
    before, comment = definition_of(item), item.comment
    match action:
        case SetOptions(options=AlertOptions() as options):
            kept = options.comment if options.comment is not None else comment
            return _with_options(run, state, before, options), kept
        case UnsetOptions(names=names):
            return _unset(before, names), None if "COMMENT" in names else comment
        case ModifyCondition(condition=condition):
            _check_condition(condition)
            return _with_task(before, exists=condition.text.strip()), comment
        case ModifyAction(action=body):
            declaring.check_body(body)
            return _with_task(before, body=body.text.strip()), comment
    raise errors.unsupported_action("ALERT", action)


def _unset(before: AlertDefinition, names: tuple[str, ...]) -> AlertDefinition:
    if "SCHEDULE" in names:
        raise errors.unsupported("alerts on new data (without SCHEDULE)", hint="SET another SCHEDULE, or SUSPEND it.")
    changed = _with_task(before, **{_TASK_FIELDS[name]: None for name in names if name in _TASK_FIELDS})
    return changed.model_copy(update={"runbook": None}) if "RUNBOOK" in names else changed


def _with_task(before: AlertDefinition, **values: Any) -> AlertDefinition:
    return before.model_copy(update={"task": before.task.model_copy(update=values)})


def dropped(state: StateTransaction, item: CatalogObject) -> None:
    """Before an alert goes: it starts no more, and a run that waits is forgotten."""
    standings.suspend(state, item.id)
    forget_waiting(state, item.id)


# -- EXECUTE ----------------------------------------------------------------------------------------------------------


def execute(run: Run, name: NameRef) -> str:
    with run.state.begin() as state:
        item = schema_objects.require(run, state, ALERT, name)
        forget_waiting(state, item.id)
        node = GraphTask(item, state[TaskRecords].standing(item.id))
        config = node.definition.config
        runs.new_graph_run(state, node, state.now, ScheduledFrom.EXECUTE_ALERT, waiting=True, config=config)
    run.account.services[Tasks].run_due()
    return f"Alert {quote(item.name.name)} is scheduled to run immediately."
