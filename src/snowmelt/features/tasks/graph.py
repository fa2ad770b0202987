"""The tasks of a schema as graphs, and the rules that a graph must keep."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote
from snowmelt.features.tasks.definitions import TASK, OverlapPolicy, RunsAsTask, RunTask, TaskDefinition, TaskStanding
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.kinds import all_kinds
from snowmelt.state.model import CatalogObject, ObjectKind
from snowmelt.state.store import StateReader

MOST_LINKS = 100
"""Predecessors of a task, and tasks after it."""
MOST_TASKS = 1000


def task_kinds() -> tuple[ObjectKind, ...]:
    """What runs as tasks do."""
    return (
        TASK,
        *(kind.name for kind in all_kinds().descriptions if issubclass(kind.definition, RunsAsTask)),
    )


@dataclass(frozen=True, slots=True)
class GraphTask:
    task: CatalogObject
    standing: TaskStanding

    @property
    def definition(self) -> TaskDefinition:
        """An alert's is that of the task as which it runs."""
        declared = self.task.definition
        if isinstance(declared, RunsAsTask):
            return declared.task
        assert isinstance(declared, TaskDefinition)
        return declared


@dataclass(frozen=True)
class TasksOfSchema:
    schema: SchemaName
    nodes: Mapping[str, GraphTask]
    """By name."""

    @cached_property
    def definitions(self) -> dict[str, TaskDefinition]:
        return {name: node.definition for name, node in self.nodes.items()}

    def root_of(self, name: str) -> GraphTask:
        return self.nodes[root_of(self.definitions, name)]

    def graph(self, root: str) -> list[GraphTask]:
        """The root, everything after it in an order in which each follows its predecessors, then the finalizer."""
        return [self.nodes[name] for name in members(self.definitions, root)]

    def full_name(self, name: str) -> str:
        return str(ObjectName(self.schema.database, self.schema.name, name))


def load(state: StateReader, schema: SchemaName) -> TasksOfSchema:
    found = state.whole_catalog.objects([TASK], schema.database, schema.name)
    return TasksOfSchema(
        schema, {item.name.name: GraphTask(item, state[TaskRecords].standing(item.id)) for item in found}
    )


def of_root(state: StateReader, root: GraphTask) -> list[GraphTask]:
    """All that runs when a root does, the root first. An alert is alone, whatever tasks are called."""
    if isinstance(root.task.definition, RunsAsTask):
        return [root]
    return load(state, root.task.name.parent).graph(root.task.name.name)


# -- graphs of definitions --------------------------------------------------------------------------------------------

Definitions = Mapping[str, TaskDefinition]


def root_of(tasks: Definitions, name: str) -> str:
    """The root of the graph that a task belongs to."""
    while True:
        definition = tasks[name]
        above = definition.predecessors or ((definition.finalizes,) if definition.finalizes is not None else ())
        known = [item for item in above if item in tasks]
        if not known:
            return name
        name = known[0]


def children(tasks: Definitions, name: str) -> list[str]:
    return sorted(item for item, definition in tasks.items() if name in definition.predecessors)


def finalizer(tasks: Definitions, root: str) -> str | None:
    return next((name for name, definition in sorted(tasks.items()) if definition.finalizes == root), None)


def members(tasks: Definitions, root: str) -> list[str]:
    """See `TasksOfSchema.graph`."""
    reached = _below(tasks, root)
    ordered: dict[str, None] = {}
    while len(ordered) < len(reached):
        for name in sorted(reached - ordered.keys()):
            if all(item in ordered or item not in reached for item in tasks[name].predecessors):
                ordered[name] = None
    last = finalizer(tasks, root)
    return [*ordered, *([last] if last is not None else [])]


def _below(tasks: Definitions, root: str) -> set[str]:
    reached, waiting = {root}, [root]
    while waiting:
        for name in children(tasks, waiting.pop()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def fingerprint(nodes: Iterable[GraphTask]) -> str:
    """Tells whether a graph is another one than it was. Whether its root is suspended does not matter."""
    text = "\n".join(
        f"{node.task.id} {node.standing.started or node.definition.is_root} {node.definition.model_dump_json()}"
        for node in sorted(nodes, key=lambda node: node.task.id)
    )
    return hashlib.sha256(text.encode()).hexdigest()


def as_run(nodes: Iterable[GraphTask]) -> tuple[RunTask, ...]:
    """The version of a graph that a run keeps, whatever happens to the tasks meanwhile."""
    return tuple(
        RunTask(
            id=node.task.id,
            name=node.task.name.name,
            owner=node.task.owner,
            definition=node.definition,
            started=node.standing.started,
        )
        for node in nodes
    )


# -- rules ------------------------------------------------------------------------------------------------------------


def check(tasks: Definitions, schema: SchemaName, name: str) -> None:
    """Raises when a task, which is new or has changed, does not fit the others. `tasks` has its new definition."""
    definition = tasks[name]
    full = str(ObjectName(schema.database, schema.name, name))
    for predecessor in definition.predecessors:
        _check_predecessor(tasks, name, predecessor, full)
    if definition.schedule is not None and definition.predecessors:
        raise errors.task_refused(f"Task {quote(name)} cannot have both a schedule and a predecessor.")
    _check_sizes(tasks, definition, name)
    _check_finalizer(tasks, name, schema, full)
    if not definition.is_root:
        _check_child(definition, name, full)
    if name in _above(tasks, name):
        raise errors.task_refused(f"Graph has at least one cycle containing task {full}.")
    roots = [item for item in _above(tasks, name) if not tasks[item].predecessors]
    if len(roots) > 1:
        shown = ", ".join(quote(item) for item in sorted(roots))
        raise errors.task_refused(
            f"The graph has more than one root task (one without predecessors): {shown}.",
            "All predecessors of a task must belong to one graph.",
        )


def _check_predecessor(tasks: Definitions, name: str, predecessor: str, full: str) -> None:
    if predecessor == name:
        raise errors.task_refused(f"Task {quote(name)} cannot use itself as its predecessor.")
    if predecessor not in tasks:
        raise errors.task_refused(f"Invalid predecessor {quote(predecessor)} was specified.", "Create that task first.")
    if tasks[predecessor].finalizes is not None:
        raise errors.task_refused(f"Task {full} cannot have a finalizer task as its predecessor.")


def _check_sizes(tasks: Definitions, definition: TaskDefinition, name: str) -> None:
    if len(definition.predecessors) > MOST_LINKS:
        raise errors.task_refused(f"Task {quote(name)} cannot have more than {MOST_LINKS} predecessors.")
    for predecessor in definition.predecessors:
        if len(children(tasks, predecessor)) > MOST_LINKS:
            raise errors.task_refused(f"Task {quote(predecessor)} cannot have more than {MOST_LINKS} child tasks.")
    if definition.predecessors and len(_below(tasks, _some_root(tasks, name))) > MOST_TASKS:
        raise errors.task_refused(f"A task graph cannot have more than {MOST_TASKS} tasks.")


def _some_root(tasks: Definitions, name: str) -> str:
    return next((item for item in sorted(_above(tasks, name)) if not tasks[item].predecessors), name)


def _check_finalizer(tasks: Definitions, name: str, schema: SchemaName, full: str) -> None:
    definition, target = tasks[name], tasks[name].finalizes
    if target is None:
        if finalizer(tasks, name) is not None and definition.predecessors:
            raise errors.task_refused(
                "This task has a finalizer and cannot be made a child task. Please remove the finalizer before adding "
                "a predecessor."
            )
        return
    if target == name:
        raise errors.task_refused(f"Task {quote(name)} cannot finalize itself.")
    if target not in tasks:
        raise errors.task_refused(f"Invalid finalized root task {quote(target)} was specified.")
    if not tasks[target].is_root:
        other = ObjectName(schema.database, schema.name, target)
        raise errors.task_refused(f"Task {full} cannot finalize a non-root task {other}.")
    if any(item != name and other.finalizes == target for item, other in tasks.items()):
        raise errors.task_refused(f"Finalize target {quote(target)} already have finalizer.")
    if definition.schedule is not None:
        raise errors.task_refused(f"Task {quote(name)} cannot have a schedule and be a finalizer task.")
    if definition.predecessors:
        raise errors.task_refused(f"Task {full} cannot have predecessors as a finalizer task.")
    if children(tasks, name):
        raise errors.task_refused(f"Task {full} cannot have children as a finalizer task.")


def _check_child(definition: TaskDefinition, name: str, full: str) -> None:
    if definition.config is not None:
        raise errors.task_refused(f"Task {full} cannot both be a non-root task and have a config.")
    if definition.overlap is not OverlapPolicy.NO_OVERLAP:
        raise errors.task_refused(f"Cannot set overlap policy on non-root task {full}.")
    if definition.retry_attempts is not None:
        raise errors.task_refused(
            f"Cannot set parameter TASK_AUTO_RETRY_ATTEMPTS on non-root task {quote(name)}. Non-root tasks use the "
            "parameter setting from their root task. Please set this on the root task for this task instead."
        )


def _above(tasks: Definitions, name: str) -> set[str]:
    """Everything that comes before a task, directly or not; the task itself only if there is a cycle."""
    found: set[str] = set()
    waiting = list(tasks[name].predecessors)
    while waiting:
        item = waiting.pop()
        if item not in found and item in tasks:
            found.add(item)
            waiting.extend(tasks[item].predecessors)
    return found
