"""The graph of the account as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.features.connectors.definitions import CONNECTOR
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.lineage.catalog import dataset_of
from snowmelt.features.lineage.keeping import LineageRecords
from snowmelt.features.lineage.outside import from_channel, from_connector
from snowmelt.features.lineage.recording import recorded_edges
from snowmelt.features.lineage.tracing import edges_of_object
from snowmelt.features.loading.definitions import STAGE
from snowmelt.features.streams.definitions import STREAM
from snowmelt.features.tasks.definitions import TASK
from snowmelt.govern.lineage.graph import Dataset, Edge, LineageDomain, LineageGraph
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_DEFINED = (ObjectKind.VIEW, ObjectKind.TABLE, STREAM, TASK)
_KINDS = (*_DEFINED, STAGE, CONNECTOR)
Ages = Mapping[str, datetime]
"""When each object was last altered, by id."""


class Definitions:
    """The edges of definitions, bound once for as long as nobody alters them or what they read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Ages, list[Edge]]] = {}

    def edges(self, run: Run, state: StateReader, item: CatalogObject, ages: Ages) -> list[Edge]:
        before, known = self._known.get(item.id, (None, []))
        if before is not None and all(ages.get(id) == at for id, at in before.items()):
            return known
        found = edges_of_object(run, state, item)
        # A definition that leads nowhere may only wait for its table to come back.
        if found:
            read = {edge.source.object_id for edge in found}
            self._known[item.id] = ({id: ages[id] for id in {item.id, *read} if id in ages}, found)
        return found


def assembled(run: Run, state: StateReader, definitions: Definitions) -> LineageGraph:
    """The whole graph, whatever the role may see: from definitions, from statements, and from outside."""
    objects = state.whole_catalog.objects(_KINDS, session_id=run.session.id)
    live = _Live(objects)
    ages = _ages(objects)
    edges: list[Edge] = []
    for item in objects:
        if item.kind in _DEFINED and not _plain(item):
            edges += definitions.edges(run, state, item, ages)
    for record in state[LineageRecords].all():
        edges += recorded_edges(record)
    current = [moved for edge in edges if (moved := live.follow(edge)) is not None]
    tables = {item.id: item for item in objects if item.kind is ObjectKind.TABLE}
    current += _channels(state, tables)
    current += _connectors(state, objects, tables)
    return LineageGraph(_merged(current))


def ages_of(state: StateReader, run: Run) -> Ages:
    return _ages(state.whole_catalog.objects(_KINDS, session_id=run.session.id))


def _ages(objects: Iterable[CatalogObject]) -> Ages:
    return {item.id: item.altered_on for item in objects}


def _plain(item: CatalogObject) -> bool:
    return isinstance(item.definition, TableDefinition) and item.definition.dynamic is None


class _Live:
    """What exists: an object that was replaced since is found by its name."""

    def __init__(self, objects: list[CatalogObject]) -> None:
        relations = [item for item in objects if item.kind not in (TASK, CONNECTOR)]
        self.by_id = {item.id: dataset_of(item) for item in relations}
        self.columns = {
            item.id: frozenset(column.name for column in item.definition.columns)
            for item in relations
            if isinstance(item.definition, TableDefinition | ViewDefinition)
        }
        self.by_name = {
            (dataset.domain is LineageDomain.STAGE, dataset.name): dataset for dataset in self.by_id.values()
        }

    def follow(self, edge: Edge) -> Edge | None:
        source, target = self.dataset(edge.source), self.dataset(edge.target)
        if source is None or target is None or source.id == target.id:
            return None
        links = tuple(
            link
            for link in edge.links
            if self._has(source, link.source_column) and self._has(target, link.target_column)
        )
        return replace(edge, source=source, target=target, links=links)

    def _has(self, dataset: Dataset, column: str | None) -> bool:
        """Whether the column is still there; of what has no columns in the catalog, anything may be."""
        known = self.columns.get(dataset.id)
        return column is None or known is None or column in known

    def dataset(self, known: Dataset) -> Dataset | None:
        if known.belongs_to:
            return known if known.belongs_to in self.by_id else None
        if len(known.name) == 1:
            return known
        return self.by_id.get(known.id) or self.by_name.get((known.domain is LineageDomain.STAGE, known.name))


def _merged(edges: list[Edge]) -> Iterator[Edge]:
    """A task's definition and its last run say the same: the run has the id of the statement."""
    found: dict[tuple[str, str, str, str | None], Edge] = {}
    for edge in edges:
        key = (edge.source.id, edge.target.id, edge.process.kind, edge.process.name)
        if edge.process.name is None:
            key = (*key[:3], edge.process.query_id)
        earlier = found.get(key)
        if earlier is None:
            found[key] = edge
            continue
        links = tuple(dict.fromkeys((*earlier.links, *edge.links)))
        found[key] = replace(edge, links=links)
    return iter(found.values())


def _channels(state: StateReader, tables: Mapping[str, CatalogObject]) -> Iterator[Edge]:
    for channel in state.channels.of_tables(list(tables)):
        yield from_channel(tables[channel.table_id], channel)


def _connectors(
    state: StateReader, objects: list[CatalogObject], tables: Mapping[str, CatalogObject]
) -> Iterator[Edge]:
    for item in objects:
        if item.kind is CONNECTOR:
            yield from from_connector(item, state[ConnectorStandings].get(item.id), tables)
