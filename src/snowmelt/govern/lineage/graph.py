"""The graph of an account: datasets, the processes that lead from one to the next, and walks along it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from snowmelt.core.names import quote
from snowmelt.govern.lineage.flows import Influence


class LineageDomain(StrEnum):
    """What a dataset is. Tables, views and dynamic tables are all TABLE to GET_LINEAGE, as in Snowflake."""

    TABLE = "TABLE"
    VIEW = "VIEW"
    DYNAMIC_TABLE = "DYNAMIC TABLE"
    STREAM = "STREAM"
    STAGE = "STAGE"
    CHANNEL = "CHANNEL"
    EXTERNAL = "EXTERNAL"
    """Outside the account: a table of a connector's source, files behind a URL."""

    @property
    def table_like(self) -> bool:
        return self in (LineageDomain.TABLE, LineageDomain.VIEW, LineageDomain.DYNAMIC_TABLE)


class Direction(StrEnum):
    UPSTREAM = "UPSTREAM"
    DOWNSTREAM = "DOWNSTREAM"


@dataclass(frozen=True, slots=True, order=True)
class Dataset:
    id: str
    domain: LineageDomain
    name: tuple[str, ...]
    """Database, schema and name; of what has no place in the catalog, its name alone."""
    belongs_to: str = ""
    """The id of the catalog's object whose right to be seen this has; empty where it has its own."""

    @property
    def object_id(self) -> str:
        return self.belongs_to or self.id

    def __str__(self) -> str:
        return ".".join(quote(part) for part in self.name) if len(self.name) == 3 else self.name[-1]


@dataclass(frozen=True, slots=True)
class Process:
    """What made the data flow."""

    kind: str
    """VIEW, DYNAMIC_TABLE, STREAM, TASK, CHANNEL, CONNECTOR, or the type of a statement."""
    name: str | None = None
    """The object's name, if it is an object."""
    query_id: str | None = None
    """The id of the statement that ran last."""


@dataclass(frozen=True, slots=True, order=True)
class LineageLink:
    """One column's way. Without a target column the source column decides the rows; without both, only that is known:
    the one dataset is made from the other."""

    source_column: str | None
    target_column: str | None
    influences: frozenset[Influence] = frozenset()


@dataclass(frozen=True, slots=True)
class Edge:
    source: Dataset
    target: Dataset
    process: Process
    links: tuple[LineageLink, ...] = ()


@dataclass(frozen=True, slots=True)
class LineageStep:
    """One edge of a walk, `distance` edges away from where it began."""

    edge: Edge
    link: LineageLink
    distance: int


class LineageGraph:
    def __init__(self, edges: Iterable[Edge]) -> None:
        self.edges = tuple(edges)
        self._into: defaultdict[str, list[Edge]] = defaultdict(list)
        self._out_of: defaultdict[str, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            self._into[edge.target.id].append(edge)
            self._out_of[edge.source.id].append(edge)

    def without(self, hidden: Callable[[Dataset], bool]) -> LineageGraph:
        """The graph as somebody sees it who may not know of some datasets."""
        return LineageGraph(edge for edge in self.edges if not hidden(edge.source) and not hidden(edge.target))

    def datasets(self) -> Iterator[Dataset]:
        yield from sorted({dataset for edge in self.edges for dataset in (edge.source, edge.target)})

    def walk(self, start: str, direction: Direction, distance: int) -> list[LineageStep]:
        """Every edge between datasets that leads from (or to) this one, the nearest first, each once."""
        nothing = LineageLink(None, None)
        return self._walk((start, None), direction, distance, lambda edge, _: [nothing])

    def walk_columns(
        self, start: str, column: str, direction: Direction, distance: int, *, rows: bool = False
    ) -> list[LineageStep]:
        """The same for one column. With `rows` also where it decides which rows there are, which is where it ends."""

        def follow(edge: Edge, at: str | None) -> Iterator[LineageLink]:
            for link in edge.links:
                here = link.source_column if direction is Direction.DOWNSTREAM else link.target_column
                followed = link.source_column is not None and (link.target_column is not None or rows)
                if followed and here == at:
                    yield link

        return self._walk((start, column), direction, distance, follow)

    def copied_from(self, start: str, column: str) -> Iterator[tuple[Dataset, str]]:
        """The columns whose values a column has as they are, the nearest first."""

        def follow(edge: Edge, at: str | None) -> Iterator[LineageLink]:
            return (link for link in edge.links if link.target_column == at and Influence.IDENTITY in link.influences)

        for step in self._walk((start, column), Direction.UPSTREAM, len(self.edges), follow):
            assert step.link.source_column is not None
            yield step.edge.source, step.link.source_column

    def _walk(
        self,
        start: tuple[str, str | None],
        direction: Direction,
        distance: int,
        follow: Callable[[Edge, str | None], Iterable[LineageLink]],
    ) -> list[LineageStep]:
        down = direction is Direction.DOWNSTREAM
        edges = self._out_of if down else self._into
        steps: list[LineageStep] = []
        seen = {start}
        frontier = [start]
        taken: set[tuple[str, str, str | None, str | None, Process]] = set()
        for hop in range(1, distance + 1):
            reached: list[tuple[str, str | None]] = []
            for id, column in frontier:
                for edge in edges[id]:
                    for link in follow(edge, column):
                        mark = (edge.source.id, edge.target.id, link.source_column, link.target_column, edge.process)
                        if mark in taken:
                            continue
                        taken.add(mark)
                        steps.append(LineageStep(edge, link, hop))
                        point = (edge.target.id, link.target_column) if down else (edge.source.id, link.source_column)
                        ends = column is not None and point[1] is None
                        if point not in seen and not ends:
                            seen.add(point)
                            reached.append(point)
            frontier = reached
        return steps
