"""Lineage of an account: recorded as statements commit, assembled when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.features.lineage.assembling import Definitions, ages_of, assembled
from snowmelt.features.lineage.catalog import dataset_of
from snowmelt.features.lineage.recording import WriteRecorder
from snowmelt.features.loading.definitions import STAGE
from snowmelt.features.streams.definitions import STREAM
from snowmelt.govern.lineage.graph import Dataset, Direction, Edge, LineageGraph, LineageStep
from snowmelt.state.model import SELECTABLE, CatalogObject, ObjectKind, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_TABLES = frozenset({ObjectKind.TABLE, ObjectKind.VIEW, STREAM})


class Lineage:
    def __init__(self, account: Account) -> None:
        self.recorder = WriteRecorder(account)
        self.definitions = Definitions()

    def graph(self, run: Run, state: StateReader) -> LineageGraph:
        """What the session's roles may know of."""
        whole = self.whole_graph(run, state)
        if run.authority.sight is None:
            return whole
        with run.state.read() as seen:
            known = {item.id for item in seen.catalog.objects(session_id=run.session.id)}

        def hidden(dataset: Dataset) -> bool:
            return dataset.object_id not in known and (len(dataset.name) == 3 or bool(dataset.belongs_to))

        return whole.without(hidden)

    def whole_graph(self, run: Run, state: StateReader) -> LineageGraph:
        """Ignores the rights of roles: the result must not be shown to users."""
        return assembled(run, state.seen_by(None), self.definitions)

    def of_definition(self, run: Run, state: StateReader, item: CatalogObject) -> list[Edge]:
        """What the definition of one object says."""
        return self.definitions.edges(run, state, item, ages_of(state, run))

    def of_columns(
        self, run: Run, state: StateReader, name: str, direction: Direction, distance: int, *, rows: bool
    ) -> list[LineageStep]:
        parts = _parts(name)
        if len(parts) < 2:
            raise errors.invalid_value(name, "object_name")
        found = self._find(run, state, parts[:-1], _TABLES, name)
        known = _columns(found)
        if known is not None and parts[-1] not in known:
            raise errors.not_found("Column", name)
        return self.graph(run, state).walk_columns(found.id, parts[-1], direction, distance, rows=rows)

    def of_objects(
        self, run: Run, state: StateReader, name: str, domain: str, direction: Direction, distance: int
    ) -> list[LineageStep]:
        kinds = frozenset({STAGE}) if domain == "STAGE" else _TABLES
        found = self._find(run, state, _parts(name.removeprefix("@")), kinds, name)
        return self.graph(run, state).walk(found.id, direction, distance)

    def described(self, run: Run, state: StateReader, name: str, direction: Direction, distance: int) -> dict[str, Any]:
        """What SYSTEM$LINEAGE answers: `table` or `table.column`, whichever exists."""
        parts = _parts(name)
        whole = self._looked_up(run, state, parts, SELECTABLE | {STAGE}) if len(parts) <= 3 else None
        if whole is not None:
            steps = self.graph(run, state).walk(whole.id, direction, distance)
            return _json(dataset_of(whole), None, direction, steps)
        if len(parts) == 1:
            raise errors.not_found("Object", name)
        steps = self.of_columns(run, state, name, direction, distance, rows=True)
        table = self._find(run, state, parts[:-1], _TABLES, name)
        return _json(dataset_of(table), parts[-1], direction, steps)

    def edges(self, run: Run, state: StateReader) -> dict[str, Any]:
        """What SYSTEM$LINEAGE_GRAPH answers: all edges between objects, each once."""
        return {"edges": [_between(edge) for edge in self.graph(run, state).edges]}

    def _find(
        self, run: Run, state: StateReader, parts: tuple[str, ...], kinds: frozenset[ObjectKind], name: str
    ) -> CatalogObject:
        found = self._looked_up(run, state, parts, kinds) if len(parts) <= 3 else None
        if found is None:
            raise errors.not_found("Object", name)
        return found

    def _looked_up(
        self, run: Run, state: StateReader, parts: tuple[str, ...], kinds: frozenset[ObjectKind]
    ) -> CatalogObject | None:
        full: ObjectName = run.object_name(parts, "GET_LINEAGE")
        return state.seen_by(run.authority.sight).catalog.find(full, kinds, run.session.id)


def _parts(name: str) -> tuple[str, ...]:
    parts = split_name(name)
    if parts is None or len(parts) > 4:
        raise errors.invalid_value(name, "object_name")
    return parts


def _columns(item: CatalogObject) -> tuple[str, ...] | None:
    """The columns of an object; None for a stream, which has those of its source."""
    definition = item.definition
    if isinstance(definition, TableDefinition | ViewDefinition):
        return tuple(column.name for column in definition.columns)
    return None


def _json(start: Dataset, column: str | None, direction: Direction, steps: list[LineageStep]) -> dict[str, Any]:
    return {
        "object": str(start),
        "domain": start.domain.value,
        "column": column,
        "direction": direction.value,
        "edges": [_edge(step) for step in steps],
    }


def _between(edge: Edge) -> dict[str, Any]:
    return {
        "source": {"object": str(edge.source), "domain": edge.source.domain.value},
        "target": {"object": str(edge.target), "domain": edge.target.domain.value},
        "process": {"type": edge.process.kind, "name": edge.process.name, "query_id": edge.process.query_id},
    }


def _edge(step: LineageStep) -> dict[str, Any]:
    process = step.edge.process
    return {
        "source": {"object": str(step.edge.source), "domain": step.edge.source.domain.value,
                   "column": step.link.source_column},
        "target": {"object": str(step.edge.target), "domain": step.edge.target.domain.value,
                   "column": step.link.target_column},
        "influences": sorted(step.link.influences),
        "distance": step.distance,
        "process": {"type": process.kind, "name": process.name, "query_id": process.query_id},
    }  # fmt: skip
