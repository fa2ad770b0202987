"""Which definition needs which, and the order in which each finds what it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, split_name
from snowmelt.features.contracts.statements import CreateContract
from snowmelt.features.data_products.statements import CreateDataProduct
from snowmelt.features.scripting.statements import CreateRoutine
from snowmelt.features.streams.statements import CreateStream
from snowmelt.features.tasks.statements import CreateTask
from snowmelt.projects import errors as project_errors
from snowmelt.projects.comparing import all_constraints
from snowmelt.projects.definitions import AnyCreate, ProjectDefinition, ProjectHome
from snowmelt.projects.queries import calls_in
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.reads import tables_in
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.columns import ForeignKeySpec
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView

_FIRST = {ObjectType.WAREHOUSE: 0, ObjectType.DATABASE: 1, ObjectType.SCHEMA: 2}
_OBJECTS = 3


def sources_of(statement: AnyCreate, home: ProjectHome) -> set[ObjectName]:
    """The relations that the statement's query reads."""
    if not isinstance(statement, CreateTable | CreateView | CreateDynamicTable) or statement.query is None:
        return set()
    return {home.complete(parts) for parts in _read(statement.query.text)}


@lru_cache(maxsize=4096)
def _read(query: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tables_in(parse_snowflake(query)))


def needs(statement: AnyCreate, home: ProjectHome) -> set[ObjectName]:
    """Everything that must exist before: relations, and what may be a function or a sequence."""
    found = sources_of(statement, home)
    for tree in _expressions(statement):
        found |= {home.complete(parts) for parts in calls_in(tree) if len(parts) <= 3}
        found |= {home.complete(parts) for parts in tables_in(tree)}
    if isinstance(statement, CreateTable):
        if statement.like is not None:
            found.add(home.complete(statement.like.parts))
        targets = [item.references for item in all_constraints(statement) if isinstance(item, ForeignKeySpec)]
        found |= {home.complete(target.parts) for target in targets}
    if isinstance(statement, CreateTable | CreateDynamicTable) and statement.clone is not None:
        found.add(home.complete(statement.clone.name.parts))
    if isinstance(statement, CreateDynamicTable) and statement.backfill_from is not None:
        found.add(home.complete(statement.backfill_from.parts))
    if isinstance(statement, CreateStream | CreateTask):
        found |= {home.complete(parts) for parts in _named_by(statement)}
    return found | {home.complete(name.parts) for name in _promised_by(statement)}


def _promised_by(statement: AnyCreate) -> Iterator[NameRef]:
    """The contract of a table, the table of a contract that is made from one, and what a data product offers."""
    if isinstance(statement, CreateContract) and statement.source.table is not None:
        yield statement.source.table
    if isinstance(statement, CreateDataProduct):
        yield from statement.options.objects or ()
    if isinstance(statement, CreateTable | CreateView | CreateDynamicTable | CreateDataProduct):
        yield from [statement.options.contract] if statement.options.contract is not None else []


def _named_by(statement: CreateStream | CreateTask) -> Iterator[tuple[str, ...]]:
    """What a stream is on, what a task comes after, and the streams that its condition names in quotes."""
    if statement.clone is not None:
        yield statement.clone.name.parts
    if isinstance(statement, CreateStream):
        if statement.source is not None:
            yield statement.source.parts
        return
    yield from (name.parts for name in statement.after)
    if statement.options.finalize is not None:
        yield statement.options.finalize.parts
    if statement.when is not None:
        for literal in parse_snowflake(statement.when.text).find_all(exp.Literal):
            parts = split_name(literal.name) if literal.is_string else None
            if parts is not None and len(parts) <= 3:
                yield parts


def _expressions(statement: AnyCreate) -> Iterator[exp.Expr]:
    if isinstance(statement, CreateTable | CreateView | CreateDynamicTable) and statement.query is not None:
        yield parse_snowflake(statement.query.text)
    if isinstance(statement, CreateTable):
        yield from (parse_snowflake(item.default.text) for item in statement.columns if item.default is not None)
    # A procedure looks names up when it runs; a function when it is created.
    if isinstance(statement, CreateRoutine) and statement.kind == "FUNCTION" and statement.body is not None:
        try:
            yield parse_snowflake(statement.body.text)
        except SnowmeltError:
            return


def ordered(definitions: Sequence[ProjectDefinition], home: ProjectHome) -> list[ProjectDefinition]:
    """Each behind what it needs, otherwise by kind and name. Raises an error that names a circle."""
    by_key = {item.key: item for item in definitions}
    by_name: dict[ObjectName, list[ProjectDefinition]] = {}
    for item in definitions:
        if item.object is not None:
            by_name.setdefault(item.object, []).append(item)
    sorter: TopologicalSorter[tuple[ObjectType, str]] = TopologicalSorter()
    for item in definitions:
        wanted = [other for name in needs(item.statement, home) for other in by_name.get(name, ())]
        before = [other for other in definitions if _rank(other) < min(_rank(item), _OBJECTS)]
        itself = item.object in sources_of(item.statement, home)
        # A foreign key may refer to its own table; a query may not read what it defines.
        sorter.add(item.key, *(other.key for other in [*before, *wanted] if other is not item or itself))
    try:
        sorter.prepare()
    except CycleError as error:
        circle = [by_key[key] for key in error.args[1]]
        names = " ← ".join(f"{item.name} ({item.location})" for item in circle)
        raise project_errors.project(f"These definitions need each other: {names}.") from None
    result: list[ProjectDefinition] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        result += sorted((by_key[key] for key in ready), key=lambda item: (_rank(item), item.kind, item.name))
        sorter.done(*ready)
    return result


def _rank(item: ProjectDefinition) -> int:
    return _FIRST.get(item.kind, _OBJECTS)
