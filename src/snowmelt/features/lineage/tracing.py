"""Edges of one definition or statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import structlog

from snowmelt.core import errors
from snowmelt.features.lineage.catalog import LineageCatalog, dataset_of
from snowmelt.features.lineage.writes import Write, WrittenPart, write_of
from snowmelt.features.streams.definitions import StreamDefinition
from snowmelt.features.tasks.definitions import TaskDefinition
from snowmelt.govern.lineage.edges import Filled, Links, links_of, same_columns
from snowmelt.govern.lineage.flows import Influence
from snowmelt.govern.lineage.graph import Dataset, Edge, LineageLink, Process
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.scripting.nodes import SqlNode
from snowmelt.sql.scripting.parser import parse_block
from snowmelt.sql.statements.base import AnonymousBlock, NameRef, Statement
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText
from snowmelt.state.dynamic_model import DynamicDefinition, DynamicState
from snowmelt.state.model import CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_log = structlog.get_logger(__name__)
_UNKNOWN = (LineageLink(None, None),)


def edges_of_object(run: Run, state: StateReader, item: CatalogObject) -> list[Edge]:
    """What the definition of a view, dynamic table, stream or task says. One that can't be bound any more says only
    what is known without: a view over a table that is gone leads nowhere."""
    try:
        return _defined(run, state, item)
    except Exception as error:
        _log.info("lineage_unknown", object=str(item.name), error=str(error))
        return _by_dependencies(state, item)


def _defined(run: Run, state: StateReader, item: CatalogObject) -> list[Edge]:
    definition = item.definition
    if isinstance(definition, ViewDefinition):
        names = [column.name for column in definition.columns]
        return _of_query(run, state, item, definition, names, Process("VIEW", str(item.name)))
    if isinstance(definition, TableDefinition) and definition.dynamic is not None:
        names = [column.name for column in definition.columns]
        return _of_query(run, state, item, definition.dynamic, names, Process("DYNAMIC_TABLE", str(item.name)))
    if isinstance(definition, StreamDefinition):
        source = state.catalog.by_id(definition.source_id)
        catalog = LineageCatalog(run, state, item.name.database, item.name.schema)
        if source is None or source.dropped_on is not None:
            return []
        links = same_columns(column.name for column in catalog.columns_of(source))
        return [Edge(dataset_of(source), dataset_of(item), Process("STREAM", str(item.name)), links)]
    if isinstance(definition, TaskDefinition):
        return _of_task(run, state, item, definition)
    return []


def _of_query(
    run: Run, state: StateReader, item: CatalogObject, definition: ViewDefinition | DynamicDefinition,
    names: Sequence[str], process: Process,
) -> list[Edge]:  # fmt: skip
    catalog = LineageCatalog(run, state, definition.database, definition.schema_)
    flow = catalog.flow(parse_snowflake(definition.query))
    return _edges(links_of([(flow, names)], catalog.datasets), dataset_of(item), process)


def _by_dependencies(state: StateReader, item: CatalogObject) -> list[Edge]:
    """Of a dynamic table that Python computes: what it reads, without columns."""
    known: DynamicState | None = state.dynamic.get(item.id)
    process = Process("DYNAMIC_TABLE", str(item.name))
    found: list[Edge] = []
    for dependency in known.dependencies if known is not None else ():
        source = state.catalog.by_id(dependency.object_id) if dependency.direct else None
        if source is not None and source.dropped_on is None and dependency.kind != "FUNCTION":
            found.append(Edge(dataset_of(source), dataset_of(item), process, _UNKNOWN))
    return found


def _of_task(run: Run, state: StateReader, item: CatalogObject, definition: TaskDefinition) -> list[Edge]:
    """What the body will write. What depends on variables of a script is known once it has run."""
    catalog = LineageCatalog(run, state, item.name.database, item.name.schema)
    found: list[Edge] = []
    for statement in _statements(SqlText(definition.body)):
        try:
            found += edges_of_write(catalog, statement, Process("TASK", str(item.name)))
        except errors.SnowmeltError as error:
            _log.debug("lineage_of_task_unknown", task=str(item.name), error=str(error))
    return found


def _statements(body: SqlText) -> Iterator[Statement]:
    """The statement, or those in the block that it is."""
    statement = parse_statement(body)
    if not isinstance(statement, AnonymousBlock):
        yield statement
        return
    for text in _texts(parse_block(statement.text)):
        yield parse_statement(text)


def _texts(node: object) -> Iterator[SqlText]:
    """The statements of SQL anywhere in a script."""
    if isinstance(node, SqlNode):
        yield node.text
    elif isinstance(node, tuple):
        for item in node:
            yield from _texts(item)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _texts(getattr(node, field.name))


def edges_of_write(catalog: LineageCatalog, statement: Statement, process: Process) -> list[Edge]:
    """What a statement that writes rows leads to. Raises when its names can't be resolved."""
    write = write_of(statement)
    if write is None:
        return []
    target, names = _target(catalog, write)
    if target is None:
        return []
    if write.location is not None:
        into = names if write.columns is None else write.columns
        links = same_columns(into) if write.by_name else _by_position(into)
        return [Edge(catalog.file_dataset(write.location), target, process, links)]
    filled = [_filled(catalog, part, names) for part in write.parts]
    # An UPDATE from the table itself is no lineage.
    by_source = {source: found for source, found in links_of(filled, catalog.datasets).items() if source != target}
    return _edges(by_source, target, process)


def _by_position(columns: Sequence[str]) -> tuple[LineageLink, ...]:
    """Fields of files, as a query over them calls them, into columns one after the other."""
    same = frozenset({Influence.IDENTITY})
    return tuple(LineageLink(f"${number}", column, same) for number, column in enumerate(columns, 1))


def _target(catalog: LineageCatalog, write: Write) -> tuple[Dataset | None, Sequence[str]]:
    if not isinstance(write.target, NameRef):
        return catalog.file_dataset(write.target), ()
    found = catalog.find(catalog.full_name(catalog.run.parts(write.target)))
    if found is None:
        return None, ()
    return dataset_of(found), [column.name for column in catalog.columns_of(found)]


def _filled(catalog: LineageCatalog, part: WrittenPart, names: Sequence[str]) -> Filled:
    flow = catalog.flow(part.query)
    if part.columns is not None:
        return flow, part.columns
    return flow, [output.name for output in flow.outputs] if part.by_name else names


def _edges(links: Links, target: Dataset, process: Process) -> list[Edge]:
    return [Edge(source, target, process, found or _UNKNOWN) for source, found in links.items()]
