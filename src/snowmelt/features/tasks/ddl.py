"""The CREATE statement of a task, for GET_DDL."""

from __future__ import annotations

from snowmelt.core.names import ObjectName, literal
from snowmelt.features.tasks.definitions import OverlapPolicy, TaskDefinition, definition_of
from snowmelt.runtime.metadata.ddl_words import flag, object_name
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject


def ddl(item: CatalogObject, qualified: bool) -> str:
    definition = definition_of(item)
    lines = [*_options(item, definition)]
    if definition.finalizes is not None:
        lines.append(f"finalize={_neighbour(item, definition.finalizes, qualified=qualified)}")
    if definition.predecessors:
        names = ", ".join(_neighbour(item, name, qualified=qualified) for name in definition.predecessors)
        lines.append(f"after {names}")
    if definition.condition is not None:
        lines.append(f"when {definition.condition}")
    head = f"create or replace task {object_name(item.name, qualified=qualified)}"
    return head + "".join(f"\n\t{line}" for line in lines) + f"\n\tas {ended(definition.body)}"


def ended(body: str) -> str:
    """With its semicolon, which a comment on the last line must not swallow."""
    return f"{body}\n;" if ends_in_comment(body) else f"{body};"


def ends_in_comment(text: str) -> bool:
    return any(mark in text.rsplit("\n", maxsplit=1)[-1] for mark in ("--", "//"))


def _options(item: CatalogObject, definition: TaskDefinition) -> list[str]:
    texts = {
        "USER_TASK_MANAGED_INITIAL_WAREHOUSE_SIZE": definition.initial_size,
        "schedule": definition.schedule,
        "config": definition.config,
        "TARGET_COMPLETION_INTERVAL": definition.completion_interval,
        "COMMENT": item.comment,
    }
    numbers = {
        "USER_TASK_TIMEOUT_MS": definition.timeout_ms,
        "SUSPEND_TASK_AFTER_NUM_FAILURES": definition.suspend_after_failures,
        "TASK_AUTO_RETRY_ATTEMPTS": definition.retry_attempts,
        "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS": definition.trigger_interval,
    }
    lines = [] if definition.warehouse is None else [f"warehouse={spelled(definition.warehouse)}"]
    lines += [f"{name}={literal(value)}" for name, value in texts.items() if value is not None]
    if definition.overlap is not OverlapPolicy.NO_OVERLAP:
        lines.append(f"overlap_policy={definition.overlap}")
    lines += [f"{name}={value}" for name, value in numbers.items() if value is not None]
    lines += [f"{name}={_parameter(value)}" for name, value in sorted(definition.parameters.items())]
    return lines


def _parameter(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return flag(value)
    return literal(value) if isinstance(value, str) else str(value)


def _neighbour(item: CatalogObject, name: str, *, qualified: bool) -> str:
    return object_name(ObjectName(item.name.database, item.name.schema, name), qualified=qualified)


def in_order(tasks: list[CatalogObject]) -> list[CatalogObject]:
    """Tasks such that each comes behind its predecessors, and a finalizer behind its root."""
    waiting = {item.name.name: item for item in tasks}
    ordered: list[CatalogObject] = []
    while waiting:
        ready = [item for item in waiting.values() if not any(name in waiting for name in _before(item))]
        ordered.extend(waiting.pop(item.name.name) for item in ready)
    return ordered


def _before(item: CatalogObject) -> list[str]:
    definition = definition_of(item)
    finalized = definition.finalizes
    return [*definition.predecessors, *([finalized] if finalized is not None else [])]
