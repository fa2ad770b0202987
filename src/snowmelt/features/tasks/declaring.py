"""From what a statement says to a task's definition. Graphs are checked in `graph.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.schedules import parse_interval, parse_schedule
from snowmelt.features.scripting import procedures
from snowmelt.features.tasks import conditions
from snowmelt.features.tasks.configs import parse_config
from snowmelt.features.tasks.definitions import OverlapPolicy, TaskDefinition
from snowmelt.features.tasks.statements import CreateTask, TaskOptions
from snowmelt.runtime import parameters
from snowmelt.sql.statements.base import AnonymousBlock, NameRef
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.session import ParameterValue
from snowmelt.sql.statements.warehouses import SIZES
from snowmelt.sql.tokens import SqlText
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

DEFAULT_TIMEOUT_MS = 3_600_000
DEFAULT_SUSPEND_AFTER = 10
DEFAULT_TRIGGER_INTERVAL = 30
_WEEK_MS = 604_800_000
_RANGES = {
    "USER_TASK_TIMEOUT_MS": (0, _WEEK_MS),
    "SUSPEND_TASK_AFTER_NUM_FAILURES": (0, 2**31 - 1),
    "TASK_AUTO_RETRY_ATTEMPTS": (0, 30),
    "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS": (10, 604_800),
}
_FIELDS = {
    "SCHEDULE": "schedule",
    "CONFIG": "config",
    "USER_TASK_TIMEOUT_MS": "timeout_ms",
    "SUSPEND_TASK_AFTER_NUM_FAILURES": "suspend_after_failures",
    "TASK_AUTO_RETRY_ATTEMPTS": "retry_attempts",
    "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS": "trigger_interval",
    "USER_TASK_MANAGED_INITIAL_WAREHOUSE_SIZE": "initial_size",
    "TARGET_COMPLETION_INTERVAL": "completion_interval",
    "WAREHOUSE": "warehouse",
    "FINALIZE": "finalizes",
}
_OVERLAP = frozenset({"OVERLAP_POLICY", "ALLOW_OVERLAPPING_EXECUTION"})
_SIZES = frozenset({"SERVERLESS_TASK_MIN_STATEMENT_SIZE", "SERVERLESS_TASK_MAX_STATEMENT_SIZE"})
"""Accepted for what they are in Snowflake: a hint to compute that is not here."""
_ALL = frozenset(item.name.upper() for item in fields(TaskOptions))


def check_alone(
    run: Run, state: StateReader, options: TaskOptions, given: Iterable[tuple[str, ParameterValue]]
) -> None:
    """What is wrong with a statement whatever there is already: Snowflake says so even under IF NOT EXISTS."""
    for name, value in given:
        if name not in parameters.PARAMETERS:
            raise errors.invalid_property(name, "TASK")
        if name == "AUTOCOMMIT" and str(value).upper() == "FALSE":
            raise errors.task_refused(
                "The parameter AUTOCOMMIT = false is not supported with Tasks. Remove the parameter and try again."
            )
        parameters.check(name, value)
    if options.warehouse is not None:
        warehouse = run.parts(options.warehouse)[-1]
        if state.warehouses.get(warehouse) is None:
            raise errors.task_refused(f"Nonexistent warehouse {quote(warehouse)} was specified.")
    if options.overlap_policy is not None and options.overlap_policy not in set(OverlapPolicy):
        raise errors.task_refused(f"invalid value '{options.overlap_policy}' for property 'OVERLAP_POLICY'")
    for name in (*_SIZES, "USER_TASK_MANAGED_INITIAL_WAREHOUSE_SIZE"):
        size = getattr(options, name.lower())
        if size is not None and size.replace("-", "") not in SIZES:
            raise errors.invalid_value(size, name)


def created(run: Run, name: ObjectName, statement: CreateTask) -> TaskDefinition:
    assert statement.body is not None
    check_body(statement.body)
    if statement.when is not None:
        conditions.check(statement.when)
    definition = TaskDefinition(
        body=statement.body.text.strip(),
        condition=None if statement.when is None else statement.when.text.strip(),
        predecessors=predecessors(run, name, statement.after),
        parameters={key: parameters.check(key, value) for key, value in statement.parameters},
        **_values(run, name, statement.options),
    )
    check(definition, statement.options)
    return definition


def check_branching(definition: TaskDefinition) -> None:
    """Raises for a condition on tasks before one that has none before it."""
    if conditions.branches(definition.condition) and not definition.predecessors:
        raise errors.task_refused(
            "SYSTEM$PREDECESSORS_STATE and SYSTEM$TASK_COMPLETION_STATE can only be used in the WHEN clause of a task "
            "with predecessors.",
            "Name the tasks before it in AFTER.",
        )


def altered(
    run: Run, name: ObjectName, before: TaskDefinition, options: TaskOptions, given: Iterable[tuple[str, Any]]
) -> TaskDefinition:
    """ALTER TASK … SET."""
    kept = {**before.parameters, **{key: parameters.check(key, value) for key, value in given}}
    values = {**_values(run, name, options), "parameters": kept}
    if options.warehouse is not None:
        values["initial_size"] = None
    elif options.user_task_managed_initial_warehouse_size is not None:
        values["warehouse"] = None
    definition = before.model_copy(update=values)
    check(definition, options)
    return definition


def unset(before: TaskDefinition, names: Iterable[str]) -> TaskDefinition:
    """ALTER TASK … UNSET; the comment is the caller's."""
    kept = dict(before.parameters)
    values: dict[str, Any] = {"parameters": kept}
    for name in names:
        if name in parameters.PARAMETERS:
            kept.pop(name, None)
        elif name in _FIELDS:
            values[_FIELDS[name]] = None
        elif name in _OVERLAP:
            values["overlap"] = OverlapPolicy.NO_OVERLAP
        elif name not in _ALL:
            raise errors.invalid_property(name, "TASK")
    return before.model_copy(update=values)


def predecessors(run: Run, name: ObjectName, after: Iterable[NameRef]) -> tuple[str, ...]:
    """The names behind AFTER, which must be of the task's own schema."""
    found: set[str] = set()
    for item in after:
        full = run.object_name(item)
        if full.parent != name.parent:
            raise errors.task_refused(f"Cannot have predecessor {quote(full.name)} from a different schema.")
        found.add(full.name)
    return tuple(sorted(found))


def check_body(body: SqlText) -> None:
    """Raises a syntax error in the body. Names are looked up when it runs."""
    statement = parse_statement(body)
    if isinstance(statement, AnonymousBlock):
        procedures.check_block(statement)


def _values(run: Run, name: ObjectName, options: TaskOptions) -> dict[str, Any]:
    given = options.given()
    values = {field: given[option] for option, field in _FIELDS.items() if option in given}
    if options.warehouse is not None:
        values["warehouse"] = run.parts(options.warehouse)[-1]
    if options.finalize is not None:
        full = run.object_name(options.finalize)
        if full.parent != name.parent:
            raise errors.task_refused(
                f"Cannot finalize graph {quote(full.schema)}.{quote(full.name)} in a different schema."
            )
        values["finalizes"] = full.name
    overlap = _overlap(options)
    if overlap is not None:
        values["overlap"] = overlap
    return values


def _overlap(options: TaskOptions) -> OverlapPolicy | None:
    allowed, policy = options.allow_overlapping_execution, options.overlap_policy
    by_flag = None
    if allowed is not None:
        by_flag = OverlapPolicy.ALLOW_CHILD_OVERLAP if allowed else OverlapPolicy.NO_OVERLAP
    if policy is None:
        return by_flag
    if by_flag is not None and by_flag != policy:
        raise errors.task_refused(
            "Cannot specify ALLOW_OVERLAPPING_EXECUTION and OVERLAP_POLICY to different values in the same command."
        )
    return OverlapPolicy(policy)


def check(definition: TaskDefinition, options: TaskOptions) -> None:
    """Raises when values do not fit their options or each other."""
    for name, (least, most) in _RANGES.items():
        value = getattr(options, name.lower())
        if value is not None and not least <= value <= most:
            raise errors.task_refused(f"parameter value out of range: {value}. Must be between {least:,} and {most:,}.")
    if definition.schedule is not None:
        parse_schedule(definition.schedule)
    if definition.config is not None:
        parse_config(definition.config)
    if definition.warehouse is not None:
        for name in ("USER_TASK_MANAGED_INITIAL_WAREHOUSE_SIZE", *sorted(_SIZES)):
            if getattr(options, name.lower()) is not None:
                raise errors.task_refused(f"Cannot set {name} on a non-serverless task.")
        if definition.completion_interval is not None:
            raise errors.compilation(
                "091857", "42601", "TARGET_COMPLETION_INTERVAL is only allowed for serverless Tasks."
            )
    if definition.completion_interval is not None and parse_interval(definition.completion_interval) is None:
        raise errors.invalid_value(definition.completion_interval, "TARGET_COMPLETION_INTERVAL")
