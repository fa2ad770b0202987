"""How every object stands that a session may know of."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from snowmelt.features.connectors.definitions import CONNECTOR, ConnectorState
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.observing.service import Observing
from snowmelt.features.tasks.definitions import RunState, TaskRun, TaskStanding
from snowmelt.features.tasks.graph import task_kinds
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.observe.freshness import Freshness
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import DynamicRefresh, DynamicState
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.sight import Owned

DYNAMIC = "DYNAMIC_TABLE"
_FAILED = frozenset({RunState.FAILED, RunState.FAILED_AND_AUTO_SUSPENDED})


def word(kind: ObjectKind) -> str:
    """A kind, as the page calls it."""
    return str(kind).replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Standing:
    objects: list[CatalogObject]
    inside: Set[str]
    """What the session monitors or operates: of the rest nothing is shown that quotes what it is made of."""
    freshness: dict[str, Freshness]
    """By the object's id, like everything here."""
    dynamic: dict[str, DynamicState]
    last: dict[str, DynamicRefresh]
    """The last refresh of each dynamic table that did something or failed."""
    executing: frozenset[str]
    runs: dict[str, TaskRun]
    """The last run of each task and alert."""
    tasks: dict[str, TaskStanding]
    """Where each task and alert stands."""
    connectors: dict[str, ConnectorState]
    rows: dict[str, int]

    def kind_of(self, item: CatalogObject) -> str:
        dynamic = isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None
        return DYNAMIC if dynamic else word(item.kind)

    def failed_run(self, id: str) -> TaskRun | None:
        """The last run of a task or alert, if it failed."""
        run = self.runs.get(id)
        return run if run is not None and run.state in _FAILED else None


def outside(refresh: DynamicRefresh, inside: Set[str]) -> DynamicRefresh:
    """A refresh, as who reads the table may know of it."""
    return refresh if refresh.table_id in inside else refresh.model_copy(update={"state_message": None})


def load(session: Session) -> Standing:
    account = session.account
    with account.state.read(session.authority.sight) as state:
        objects = [
            item for item in state.catalog.objects(session_id=session.id)
            if item.name.schema != "INFORMATION_SCHEMA"
        ]  # fmt: skip
        known = {item.id for item in objects}
        fresh = account.services[Observing].freshness(state, every_table=True)
        inside = {item.id for item in objects if session.authority.looks_inside(Owned(item.id, item.owner))}
        dynamic = {
            id: found if id in inside else found.model_copy(update={"reason_message": None})
            for id, found in state.dynamic.all().items() if id in known
        }  # fmt: skip
        last = {}
        for id in dynamic:
            recent = state.dynamic.newest(id, 8)
            ended = [row for row in recent if row.state.value not in ("EXECUTING", "SCHEDULED", "SKIPPED")]
            if ended:
                last[id] = outside(ended[0], inside)
        executing = frozenset(row.table_id for row in state.dynamic.executing())
        kinds = task_kinds()
        tasks = [item.id for item in objects if item.kind in kinds]
        runs = {}
        for id in tasks:
            found = [run for run in state[TaskRecords].last_runs(id, 3) if run.completed_at is not None]
            if found:
                runs[id] = found[0]
        stand = {id: state[TaskRecords].standing(id) for id in tasks}
        standings = state[ConnectorStandings]
        connectors = {item.id: standings.require(item.id) for item in objects if item.kind == CONNECTOR}
        tables = [item.id for item in objects if item.kind is ObjectKind.TABLE]
        versions = state.versions.snapshot(tables)
    return Standing(
        objects, inside, {one.id: one for one in fresh if one.id in known}, dynamic, last, executing, runs, stand,
        connectors, {id: version.rows for id, version in versions.items()},
    )  # fmt: skip
