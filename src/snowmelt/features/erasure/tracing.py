"""From the columns that name a person to conditions on every table that has rows of theirs.

Downwards a value is followed where it is copied as it is. Upwards, from a view, a dynamic table, or what a statement or
task wrote, it is followed through the query: the rows of a source are those whose expression gives the value, under the
query's own conditions (`govern.erasure.origins`). A table that also gets the column from elsewhere is not touched by
itself: its rows may be about somebody else. It is named, and whoever asks may name it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote, split_name
from snowmelt.core.types import DataType, Kind
from snowmelt.features.lineage.catalog import LineageCatalog
from snowmelt.features.lineage.service import Lineage
from snowmelt.features.lineage.writes import write_of
from snowmelt.features.tasks.definitions import TaskDefinition
from snowmelt.govern.erasure.model import ErasureRequest
from snowmelt.govern.erasure.origins import ColumnsOf, Origins, ValueOrigin, origins_of, output_names
from snowmelt.govern.lineage.flows import Influence
from snowmelt.govern.lineage.graph import LineageGraph
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import SELECTABLE, CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_NUMBERS = frozenset({Kind.NUMBER, Kind.FLOAT})


@dataclass(frozen=True, slots=True)
class TracedCondition:
    sql: str
    """Over the table's columns, with `?` for values."""
    values: tuple[str | Decimal, ...]
    how: str
    column: str | None = None
    """The column that is compared, if that is all."""


@dataclass(slots=True)
class Traced:
    conditions: defaultdict[str, list[TracedCondition]] = field(default_factory=lambda: defaultdict(list))
    """By table id; each of them says that a row is the person's."""
    unclear: dict[str, str] = field(default_factory=dict)
    """Tables, by full name, that may have rows of the person, and why that can't be told."""


@dataclass(frozen=True, slots=True)
class _Point:
    id: str
    column: str
    values: tuple[str, ...]
    upwards: bool


@dataclass(frozen=True, slots=True)
class _Definition:
    query: exp.Expr
    names: tuple[str, ...]
    """What its outputs are called in what it makes."""
    catalog: LineageCatalog


class Tracer:
    def __init__(self, run: Run, state: StateReader) -> None:
        self._run, self._state = run, state.seen_by(None)
        self._graph: LineageGraph = run.account.services[Lineage].whole_graph(run, state)
        self._objects = {item.id: item for item in self._state.catalog.objects(all_sessions=True)}
        self._traced = Traced()
        self._seen: set[tuple[str, str]] = set()

    def trace(self, request: ErasureRequest) -> Traced:
        waiting = [self._named(name, values) for name, values in request.columns.items()]
        while waiting:
            point = waiting.pop(0)
            if (point.id, point.column) in self._seen:
                continue
            self._seen.add((point.id, point.column))
            waiting += self._step(point)
        for name, condition in request.conditions.items():
            self._add(self.object(name), TracedCondition(condition, (), "named in the request"))
        self._carry_documents()
        self._leave_what_others_feed(request)
        return self._traced

    # -- names ----------------------------------------------------------------------------------------------------

    def object(self, name: str) -> CatalogObject:
        parts = split_name(name)
        found = self._find(self._run.object_name(parts, "FORGET")) if parts is not None and len(parts) <= 3 else None
        if found is None:
            raise errors.not_found("Table", name)
        return found

    def _find(self, name: ObjectName) -> CatalogObject | None:
        return self._state.catalog.find(name, SELECTABLE, self._run.session.id)

    def named(self, name: str, values: tuple[str, ...]) -> tuple[CatalogObject, TracedCondition]:
        """What the request names, and the condition on its rows."""
        point = self._named(name, values)
        item = self._objects[point.id]
        definition = item.definition
        assert isinstance(definition, TableDefinition | ViewDefinition)
        type_ = next(each.type for each in definition.columns if each.name == point.column)
        sql, given = equality(quote(point.column), type_, values)
        return item, TracedCondition(sql, given, "named in the request", point.column)

    def _named(self, name: str, values: tuple[str, ...]) -> _Point:
        *table, column = split_name(name) or ()
        item = self.object(".".join(quote(part) for part in table))
        if column not in _columns(item):
            raise errors.not_found("Column", name)
        return _Point(item.id, column, values, upwards=True)

    # -- one column -----------------------------------------------------------------------------------------------

    def _step(self, point: _Point) -> Iterator[_Point]:
        item = self._objects.get(point.id)
        if item is None:
            return
        if isinstance(item.definition, TableDefinition):
            how = "named in the request" if point.upwards else "copied from what names the person"
            self._add(item, self._equal(item.definition, point.column, point.values, how))
        if point.upwards:
            yield from self._upwards(item, exp.column(exp.to_identifier(point.column, quoted=True)), (), point.values)
        yield from self._downwards(point)
        yield from self._referring(item, point)

    def _downwards(self, point: _Point) -> Iterator[_Point]:
        for edge in self._graph.edges:
            if edge.source.id == point.id:
                for link in edge.links:
                    copied = link.source_column == point.column and Influence.IDENTITY in link.influences
                    if copied and link.target_column is not None:
                        yield _Point(edge.target.id, link.target_column, point.values, upwards=False)

    def _referring(self, item: CatalogObject, point: _Point) -> Iterator[_Point]:
        """Columns that are declared to refer to this one have the person's key."""
        for other in self._objects.values():
            keys = other.definition.foreign_keys if isinstance(other.definition, TableDefinition) else ()
            for key in keys:
                if key.references == item.name:
                    for column, referenced in zip(key.columns, key.referenced_columns, strict=False):
                        if referenced == point.column:
                            yield _Point(other.id, column, point.values, upwards=True)

    def _upwards(
        self, item: CatalogObject, value: exp.Expr, conditions: Sequence[exp.Expr], values: tuple[str, ...],
        depth: int = 0,
    ) -> Iterator[_Point]:  # fmt: skip
        for definition in self._definitions(item) if depth < 50 else ():
            origins = _through(definition, value, conditions)
            for name in origins.unclear:
                self._traced.unclear.setdefault(name, f"{item.name} is made of it in a way that can't be turned around")
            for origin in origins.found:
                source = _source(definition.catalog, origin.table)
                if source is None:
                    continue
                plain = origin.plain_column
                if plain is not None:
                    yield _Point(source.id, plain, values, upwards=True)
                elif isinstance(source.definition, TableDefinition) and source.definition.dynamic is None:
                    self._add(source, _made_of(origin, item, values))
                else:
                    yield from self._upwards(source, origin.value, origin.conditions, values, depth + 1)

    # -- where rows come from -------------------------------------------------------------------------------------

    def _definitions(self, item: CatalogObject) -> Iterator[_Definition]:
        definition = item.definition
        names = _columns(item)
        if isinstance(definition, ViewDefinition):
            yield self._definition(definition.query, names, definition.database, definition.schema_)
        elif isinstance(definition, TableDefinition) and definition.dynamic is not None:
            dynamic = definition.dynamic
            yield self._definition(dynamic.query, names, dynamic.database, dynamic.schema_)
        else:
            yield from self._written(item, names)

    def _definition(self, query: str, names: tuple[str, ...], database: str, schema: str) -> _Definition:
        return _Definition(parse_snowflake(query), names, LineageCatalog(self._run, self._state, database, schema))

    def _written(self, item: CatalogObject, names: tuple[str, ...]) -> Iterator[_Definition]:
        """The queries of tasks and statements that wrote the table, as far as they are still known."""
        for edge in self._graph.edges:
            if edge.target.id != item.id:
                continue
            text, database, schema = self._text_of(edge.process.name, edge.process.query_id)
            if text is None:
                continue
            catalog = LineageCatalog(self._run, self._state, database, schema)
            try:
                write = write_of(parse_statement(SqlText(text)))
            except errors.SnowmeltError:
                continue
            if write is None or not isinstance(write.target, NameRef):
                continue
            for part in write.parts:
                given = part.columns or (
                    tuple(output_names(part.query, _columns_of(catalog))) if part.by_name else names
                )
                yield _Definition(part.query, given, catalog)

    def _text_of(self, name: str | None, query_id: str | None) -> tuple[str | None, str | None, str | None]:
        if name is not None:
            for item in self._objects.values():
                if isinstance(item.definition, TaskDefinition) and str(item.name) == name:
                    return item.definition.body, item.name.database, item.name.schema
        record = self._run.account.journal.get(query_id) if query_id is not None else None
        return (record.text, record.database, record.schema_name) if record is not None else (None, None, None)

    # -- conditions -----------------------------------------------------------------------------------------------

    def _add(self, item: CatalogObject, condition: TracedCondition) -> None:
        known = self._traced.conditions[item.id]
        if condition not in known:
            known.append(condition)

    def _equal(self, definition: TableDefinition, column: str, values: Iterable[str], how: str) -> TracedCondition:
        type_ = next(each.type for each in definition.columns if each.name == column)
        sql, given = equality(quote(column), type_, values)
        return TracedCondition(sql, given, how, column)

    def _carry_documents(self) -> None:
        """A copy of a table has the columns that a condition reads: the same condition finds the person there."""
        waiting = [(id, each) for id, found in self._traced.conditions.items() for each in found if not each.column]
        while waiting:
            id, condition = waiting.pop()
            read = {column.name for column in _parsed(condition.sql).find_all(exp.Column)}
            for edge in self._graph.edges:
                target = self._objects.get(edge.target.id)
                if edge.source.id != id or target is None or not isinstance(target.definition, TableDefinition):
                    continue
                copied = (link for link in edge.links if Influence.IDENTITY in link.influences)
                same = {link.source_column for link in copied if link.source_column == link.target_column}
                if read and read <= same and condition not in self._traced.conditions[target.id]:
                    self._add(target, condition)
                    waiting.append((target.id, condition))

    def _leave_what_others_feed(self, request: ErasureRequest) -> None:
        named = {(point.id, point.column) for point in (self._named(*each) for each in request.columns.items())}
        for id, found in list(self._traced.conditions.items()):
            item = self._objects[id]
            definition = item.definition
            if not isinstance(definition, TableDefinition) or definition.dynamic is not None:
                continue
            for condition in [each for each in found if each.column is not None and (id, each.column) not in named]:
                others = self._others(id, str(condition.column))
                if others:
                    found.remove(condition)
                    self._traced.unclear[str(item.name)] = (
                        f"its column {condition.column} is also filled from {', '.join(sorted(others))}: "
                        "name it in the request if its rows with this value are the person's"
                    )

    def _others(self, id: str, column: str) -> set[str]:
        found: set[str] = set()
        for edge in self._graph.edges:
            for link in edge.links if edge.target.id == id else ():
                values = link.target_column == column and any(each.direct for each in link.influences)
                known = (edge.source.id, link.source_column) in self._seen or edge.source.id in self._traced.conditions
                if values and not known and edge.source.id in self._objects:
                    found.add(str(edge.source))
        return found


def equality(column: str, type_: DataType, values: Iterable[str]) -> tuple[str, tuple[str | Decimal, ...]]:
    """A condition that a column has one of the values, and what `?` stands for. Letters of any case are the same in
    addresses, and in nothing else."""
    parts: list[str] = []
    given: list[str | Decimal] = []
    for value in values:
        if type_.kind in _NUMBERS:
            try:
                given.append(Decimal(value))
            except InvalidOperation:
                continue
            parts.append(f"{column} = ?")
        elif "@" in value:
            given.append(value.lower())
            parts.append(f"LOWER(TO_VARCHAR({column})) = ?")
        else:
            given.append(value)
            parts.append(f"TO_VARCHAR({column}) = ?")
    return " OR ".join(parts) or "FALSE", tuple(given)


def _made_of(origin: ValueOrigin, item: CatalogObject, values: tuple[str, ...]) -> TracedCondition:
    text = origin.value.sql(dialect="snowflake")
    parts, given = [], []
    for value in values:
        parts.append(f"LOWER(TO_VARCHAR({text})) = ?" if "@" in value else f"TO_VARCHAR({text}) = ?")
        given.append(value.lower() if "@" in value else value)
    sql = " AND ".join(
        [f"({' OR '.join(parts)})", *(f"({each.sql(dialect='snowflake')})" for each in origin.conditions)]
    )
    return TracedCondition(sql, tuple(given), f"what {item.name} is made of")


def _through(definition: _Definition, value: exp.Expr, conditions: Sequence[exp.Expr]) -> Origins:
    """An expression over what a definition makes, taken to its sources."""
    outputs = output_names(definition.query, _columns_of(definition.catalog))
    renamed = dict(zip(definition.names, outputs, strict=False))
    found = Origins()

    def rename(node: exp.Expr) -> exp.Expr:
        copied = node.copy()
        for column in copied.find_all(exp.Column):
            column.set("this", exp.to_identifier(renamed.get(column.name, column.name), quoted=True))
        return copied

    wrapped = exp.select(exp.alias_(rename(value), exp.to_identifier("V", quoted=True)))
    wrapped = wrapped.from_(
        exp.Subquery(this=definition.query.copy(), alias=exp.TableAlias(this=exp.to_identifier("Q")))
    )
    for condition in conditions:
        wrapped = wrapped.where(rename(condition))
    inner = origins_of(wrapped, "V", _columns_of(definition.catalog))
    found.found += inner.found
    # What one branch of a UNION says clearly is enough.
    clear = {origin.table.name for origin in inner.found}
    found.unclear += [name for name in inner.unclear if name not in clear]
    return found


def _columns_of(catalog: LineageCatalog) -> ColumnsOf:
    def columns(table: exp.Table) -> Sequence[str] | None:
        item = _source(catalog, table)
        return None if item is None else [column.name for column in catalog.columns_of(item)]

    return columns


def _source(catalog: LineageCatalog, table: exp.Table) -> CatalogObject | None:
    parts = tuple(fold_identifier(part) for part in table.parts if isinstance(part, exp.Identifier))
    return catalog.find(catalog.full_name(parts))


def _columns(item: CatalogObject) -> tuple[str, ...]:
    definition = item.definition
    if isinstance(definition, TableDefinition | ViewDefinition):
        return tuple(column.name for column in definition.columns)
    return ()


def _parsed(condition: str) -> exp.Expr:
    return parse_snowflake(f"SELECT {condition}")
