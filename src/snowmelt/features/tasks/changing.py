"""CREATE, ALTER and DROP of tasks: each is one state transaction, and refused while the graph's root is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.tasks import conditions, declaring, graph, standings
from snowmelt.features.tasks import errors as task_errors
from snowmelt.features.tasks.definitions import TASK, RunState, TaskDefinition
from snowmelt.features.tasks.graph import GraphTask, TasksOfSchema
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.statements import ChangeAfter, CreateTask, ModifyAs, ModifyWhen, SetTask, UnsetTask
from snowmelt.runtime import schema_objects
from snowmelt.runtime.metadata.scopes import existing_schema
from snowmelt.sql.statements.base import Action, NameRef
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


# -- CREATE -----------------------------------------------------------------------------------------------------------


def create(run: Run, statement: CreateTask) -> str:
    """What the answer says."""
    name = run.object_name(statement.name, "CREATE TASK")
    with run.state.begin() as state:
        existing_schema(state, name)
        declaring.check_alone(run, state, statement.options, statement.parameters)
        existing = state.catalog.find(name, [TASK])
        if existing is not None and statement.if_not_exists:
            return f"{quote(name.name)} already exists, statement succeeded."
        if existing is not None and not (statement.or_replace or statement.or_alter):
            raise errors.already_exists(run.written(statement.name))
        definition, comment = _wanted(run, state, name, statement)
        tasks = graph.load(state, name.parent)
        if existing is not None and statement.or_alter:
            if definition != existing.definition or comment != existing.comment:
                _check_suspended(tasks, [name.name])
                _put(state, tasks, existing, definition, comment)
            return f"Task {quote(name.name)} successfully altered."
        if existing is not None:
            _replace(state, tasks, existing, definition)
        else:
            _check_fits(tasks, name, definition)
            _check_suspended(tasks, _linked(definition))
        state.catalog.create(
            CatalogObject(
                id=new_id(),
                name=name,
                owner=run.session.role,
                comment=comment,
                created_on=state.now,
                altered_on=state.now,
                definition=definition,
            )
        )
    return f"Task {quote(name.name)} successfully created."


def _wanted(run: Run, state: StateReader, name: ObjectName, statement: CreateTask) -> tuple[TaskDefinition, str | None]:
    if statement.clone is None:
        return declaring.created(run, name, statement), statement.options.comment
    source = schema_objects.require(run, state, TASK, statement.clone.name)
    assert isinstance(source.definition, TaskDefinition)
    if source.name.parent != name.parent:
        # Its neighbours are not in that schema.
        return source.definition.model_copy(update={"predecessors": (), "finalizes": None}), source.comment
    return source.definition, source.comment


def _replace(state: StateTransaction, tasks: TasksOfSchema, existing: CatalogObject, new: TaskDefinition) -> None:
    """The new task takes the old one's place in the graph, and begins suspended."""
    name = existing.name.name
    if graph.finalizer(tasks.definitions, name) is not None and not new.is_root:
        raise errors.task_refused(
            f"Cannot replace task {existing.name} with a non-root task because it has a finalizer task. Please remove "
            "the finalizer task first."
        )
    _check_fits(tasks, existing.name, new)
    if not tasks.nodes[name].definition.is_root:
        _check_suspended(tasks, [name])
    _check_suspended(tasks, [item for item in _linked(new) if graph.root_of(tasks.definitions, item) != name])
    forget_waiting(state, existing.id)
    state.catalog.drop(existing.id, state.now)


def _linked(definition: TaskDefinition) -> list[str]:
    """The tasks whose graphs a definition becomes part of."""
    return [*definition.predecessors, *([definition.finalizes] if definition.finalizes is not None else [])]


def _check_fits(tasks: TasksOfSchema, name: ObjectName, definition: TaskDefinition) -> None:
    declaring.check_branching(definition)
    graph.check({**tasks.definitions, name.name: definition}, tasks.schema, name.name)


def _check_suspended(tasks: TasksOfSchema, names: list[str]) -> None:
    """Raises when the root of a graph that these tasks belong to is started."""
    for name in names:
        root = tasks.root_of(name)
        if root.standing.started:
            raise task_errors.root_not_suspended(str(root.task.name))


def _put(
    state: StateTransaction, tasks: TasksOfSchema, item: CatalogObject, definition: TaskDefinition, comment: str | None
) -> None:
    _check_fits(tasks, item.name, definition)
    _check_suspended(tasks, _linked(definition))
    before = tasks.nodes[item.name.name].definition
    state.catalog.update(
        item.model_copy(update={"definition": definition, "comment": comment, "altered_on": state.now})
    )
    if definition.is_root and not before.is_root:
        reason = standings.FINALIZER_BECAME_ROOT if before.finalizes is not None else standings.BECAME_ROOT
        standings.suspend(state, item.id, reason)


# -- ALTER ------------------------------------------------------------------------------------------------------------


def alter(run: Run, name: NameRef, action: Action, *, if_exists: bool) -> None:
    with run.state.begin() as state:
        task = schema_objects.find(run, state, TASK, name)
        if task is None:
            if if_exists:
                return
            raise schema_objects.missing(run, TASK, name)
        tasks = graph.load(state, task.name.parent)
        node = tasks.nodes[task.name.name]
        if isinstance(action, Resume | Suspend):
            _switch(state, tasks, node, started=isinstance(action, Resume))
            return
        _check_suspended(tasks, [task.name.name])
        definition, comment = _changed(run, state, node, action)
        _put(state, tasks, task, definition, comment)


def _switch(state: StateTransaction, tasks: TasksOfSchema, node: GraphTask, *, started: bool) -> None:
    if not node.definition.is_root:
        _check_suspended(tasks, [node.task.name.name])
    if started:
        standings.resume(state, tasks, node)
    elif node.standing.started or node.standing.suspended_on is None:
        standings.suspend(state, node.task.id)


def _changed(run: Run, state: StateReader, node: GraphTask, action: Action) -> tuple[TaskDefinition, str | None]:
    before, comment = node.definition, node.task.comment
    match action:
        case SetTask(options=options, parameters=given):
            declaring.check_alone(run, state, options, given)
            kept = options.comment if options.comment is not None else comment
            return declaring.altered(run, node.task.name, before, options, given), kept
        case UnsetTask(names=names):
            return declaring.unset(before, names), None if "COMMENT" in names else comment
        case ChangeAfter(names=names, removed=removed):
            return before.model_copy(update=_links(run, node, names, removed=removed)), comment
        case ModifyAs(body=body):
            declaring.check_body(body)
            return before.model_copy(update={"body": body.text.strip()}), comment
        case ModifyWhen(condition=condition):
            if condition is not None:
                conditions.check(condition)
            text = None if condition is None else condition.text.strip()
            return before.model_copy(update={"condition": text}), comment
    raise errors.unsupported_action("TASK", action)


def _links(run: Run, node: GraphTask, names: tuple[NameRef, ...], *, removed: bool) -> dict[str, Any]:
    given = declaring.predecessors(run, node.task.name, names)
    present = set(node.definition.predecessors)
    if not removed:
        return {"predecessors": tuple(sorted(present | set(given)))}
    for name in given:
        if name not in present:
            raise errors.task_refused(f"Task {quote(node.task.name.name)} does not have predecessor {quote(name)}.")
    return {"predecessors": tuple(sorted(present - set(given)))}


# -- DROP -------------------------------------------------------------------------------------------------------------


def dropped(state: StateTransaction, task: CatalogObject) -> None:
    """Before a task goes: what came after it does so no longer, and its graph must not be running by itself."""
    tasks = graph.load(state, task.name.parent)
    name = task.name.name
    if not tasks.nodes[name].definition.is_root:
        _check_suspended(tasks, [name])
    for other, node in tasks.nodes.items():
        definition = node.definition
        if other == name or not (name in definition.predecessors or definition.finalizes == name):
            continue
        remaining = tuple(item for item in definition.predecessors if item != name)
        finalizes = None if definition.finalizes == name else definition.finalizes
        _put(
            state,
            tasks,
            node.task,
            definition.model_copy(update={"predecessors": remaining, "finalizes": finalizes}),
            node.task.comment,
        )
    standings.suspend(state, task.id)
    forget_waiting(state, task.id)


def forget_waiting(state: StateTransaction, root_id: str) -> None:
    for run in state[TaskRecords].active_graph_runs():
        if run.root_id == root_id and run.state is RunState.SCHEDULED:
            state[TaskRecords].forget_graph_run(run.id)
