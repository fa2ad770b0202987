"""The graph of dynamic tables: who reads whom, through views too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from snowmelt.core.names import ObjectName
from snowmelt.state.dynamic_model import DynamicDefinition, DynamicState
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader


@dataclass(frozen=True, slots=True)
class RefreshNode:
    table: CatalogObject
    state: DynamicState
    upstream: frozenset[str]
    """Ids of the dynamic tables that it reads."""

    @property
    def definition(self) -> DynamicDefinition:
        assert isinstance(self.table.definition, TableDefinition) and self.table.definition.dynamic is not None
        return self.table.definition.dynamic


@dataclass(frozen=True, slots=True)
class RefreshGraph:
    nodes: dict[str, RefreshNode]

    def with_upstream(self, ids: Collection[str]) -> list[RefreshNode]:
        """These tables and all that they read, each behind what it reads.

        What has its scheduler disabled is no part of the graph: it is read as it is, unless it is asked for.
        """
        ordered: dict[str, RefreshNode] = {}
        visiting: set[str] = set()

        def visit(id: str) -> None:
            if id in ordered or id in visiting or id not in self.nodes:
                return
            visiting.add(id)
            node = self.nodes[id]
            for above in sorted(node.upstream):
                if above in ids or (above in self.nodes and self.nodes[above].definition.scheduled):
                    visit(above)
            ordered[id] = node

        for id in ids:
            visit(id)
        return list(ordered.values())

    def downstream_of(self, id: str) -> Iterator[RefreshNode]:
        """All that read the table, directly or through others; each behind what it reads."""
        reached = {id}
        for node in self.with_upstream(list(self.nodes)):
            if node.table.id not in reached and not reached.isdisjoint(node.upstream):
                reached.add(node.table.id)
                yield node


def load(state: StateReader) -> RefreshGraph:
    """The live dynamic tables."""
    found: dict[str, tuple[CatalogObject, DynamicState]] = {}
    states = state.dynamic.all()
    tables = state.catalog.by_ids(states)
    for id, dynamic in states.items():
        table = tables.get(id)
        if table is not None and table.dropped_on is None:
            found[id] = (table, dynamic)
    by_name = {table.name: id for id, (table, _) in found.items()}
    return RefreshGraph(
        {id: RefreshNode(table, dynamic, upstream_of(dynamic, by_name)) for id, (table, dynamic) in found.items()}
    )


def upstream_of(dynamic: DynamicState, by_name: dict[ObjectName, str]) -> frozenset[str]:
    """The dynamic tables it reads, by name, as the next refresh will look them up: one may have been replaced."""
    relations = [item for item in dynamic.dependencies if item.kind in ("TABLE", "DYNAMIC_TABLE") and not item.bounded]
    reads = (by_name.get(item.name) for item in relations)
    return frozenset(id for id in reads if id is not None)
