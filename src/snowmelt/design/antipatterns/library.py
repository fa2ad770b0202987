"""The statements of SQL files as one library: what defines what, who reads whom, and the columns as far as they show.

It needs no account. A table that no file defines is unknown, and what depends on its columns is then not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import quote
from snowmelt.core.types import DataType, parse_type
from snowmelt.features.streams.statements import CreateStream
from snowmelt.features.tasks.statements import CreateTask
from snowmelt.sql import scd
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.no_relations import NoRelations
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.reads import tables_in
from snowmelt.sql.relations import Relation, RelationColumn, Relations, TimeTravel
from snowmelt.sql.statements.base import AnonymousBlock, Query, Statement
from snowmelt.sql.statements.dml import InsertStatement, MergeStatement
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView
from snowmelt.sql.tokens import SqlText, TokenKind, split_statements, tokenize

Parts = tuple[str, ...]
RELATIONS = (CreateTable, CreateView, CreateDynamicTable, CreateStream)
_IGNORE = re.compile(r"snowmelt:\s*ignore\s+([A-Z0-9,\s-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LintedStatement:
    """One statement of a file."""

    file: str
    sql: SqlText
    offset: int
    """Where the statement's text begins in the file's."""
    statement: Statement | None
    """None for a statement that can't be parsed here, such as a dbt model with Jinja."""
    ignored: frozenset[str] = frozenset()
    """Ids of anti-patterns that a comment takes responsibility for."""

    @property
    def parts(self) -> Parts:
        name = getattr(self.statement, "name", None)
        return tuple(name.parts) if name is not None else ()

    @property
    def name(self) -> str:
        return ".".join(self.parts)

    @property
    def line(self) -> int:
        return self.sql.line


def read_items(file: str, text: str) -> list[LintedStatement]:
    """Raises nothing: what can't be read is an item without a statement."""
    try:
        pieces = split_statements(text)
    except SnowmeltError:
        return [LintedStatement(file, SqlText(text), 0, None)]
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    lines = text.split("\n")
    found = []
    for piece in pieces:
        try:
            statement: Statement | None = parse_statement(piece)
        except SnowmeltError:
            statement = None
        above = lines[piece.line - 2] if piece.line > 1 else ""
        comment = above if above.lstrip().startswith("--") else ""
        ignored = _ignored(comment + "\n" + piece.text)
        found.append(LintedStatement(file, piece, starts[piece.line - 1] + piece.column, statement, ignored))
    return found


def _ignored(text: str) -> frozenset[str]:
    found = (match.group(1) for match in _IGNORE.finditer(text))
    return frozenset(word.upper() for words in found for word in re.split(r"[,\s]+", words) if word)


def task_statements(body: SqlText) -> list[Statement]:
    """What a task runs: its statement, or those of its block as far as they stand alone."""
    try:
        statement = parse_statement(body)
    except SnowmeltError:
        return []
    if not isinstance(statement, AnonymousBlock):
        return [statement]
    tokens = tokenize(body).tokens
    found: list[Statement] = []
    start: int | None = None
    for token in tokens:
        if token.word in (";", "BEGIN", "THEN", "ELSE", "DO", "DECLARE") or token.kind is TokenKind.END:
            if start is not None:
                found += _alone(body.text[start : token.start])
            start = token.end
    return found


def _alone(text: str) -> list[Statement]:
    try:
        return [parse_statement(text)]
    except SnowmeltError:
        return []


def reads_of(statement: Statement) -> set[Parts]:
    """The relations that a statement reads."""
    query: SqlText | str | None = None
    match statement:
        case CreateDynamicTable(dimension=scd.Dimension(stream=None, source=source)):
            query = f"SELECT * FROM {source}"
        case CreateDynamicTable(query=found) | CreateView(query=found) | CreateTable(query=found):
            query = found
        case InsertStatement(source=found) | Query(text=found):
            query = found
        case MergeStatement(source=found):
            query = f"SELECT * FROM {found.text}"
        case CreateStream(source=name) if name is not None:
            return {tuple(name.parts)}
        case _:
            pass
    return set() if query is None else _tables(str(query))


def _tables(text: str) -> set[Parts]:
    try:
        return tables_in(parse_snowflake(text))
    except SnowmeltError:
        return set()


def query_of(statement: Statement | None) -> SqlText | None:
    """The query of a view or a dynamic table."""
    if isinstance(statement, CreateView | CreateDynamicTable):
        return statement.query
    return None


@dataclass
class Library(NoRelations):
    """All items, and the catalog that they would make."""

    items: tuple[LintedStatement, ...]
    _columns: dict[Parts, tuple[RelationColumn, ...]] = field(default_factory=dict)
    _binding: set[Parts] = field(default_factory=set)

    @cached_property
    def relations(self) -> dict[str, list[LintedStatement]]:
        """The relations, by the last part of their names."""
        found: dict[str, list[LintedStatement]] = {}
        for item in self.items:
            if isinstance(item.statement, RELATIONS) and item.parts:
                found.setdefault(item.parts[-1], []).append(item)
        return found

    def find(self, parts: Parts, near: Parts = ()) -> LintedStatement | None:
        """The item that defines a relation; of several with the name, the one in the schema of `near`."""
        wanted = (*near[:-1][: len(near) - len(parts)], *parts)
        found = [item for item in self.relations.get(parts[-1], ()) if _agree(item.parts, parts)]
        return next((item for item in found if _agree(item.parts, wanted)), found[0] if found else None)

    @cached_property
    def readers(self) -> dict[int, list[LintedStatement]]:
        """The dynamic tables, views and streams that read each defining item, by the item's id."""
        found: dict[int, list[LintedStatement]] = {}
        for item in self.items:
            if isinstance(item.statement, CreateDynamicTable | CreateView | CreateStream):
                for parts in reads_of(item.statement):
                    source = self.find(parts, item.parts)
                    if source is not None:
                        found.setdefault(id(source), []).append(item)
        return found

    def tasks(self) -> Iterator[tuple[LintedStatement, CreateTask]]:
        for item in self.items:
            if isinstance(item.statement, CreateTask):
                yield item, item.statement

    # -- columns --------------------------------------------------------------------------------------------------

    def relation(self, parts: Parts, when: TimeTravel | None) -> Relation:
        item = self.find(parts)
        columns = self.columns_of(item) if item is not None else None
        if item is None or columns is None:
            raise errors.not_found("Object", ".".join(quote(part) for part in parts))
        return Relation(item.name, columns, reference=item.name)

    def within(self, database: str, schema: str, owner: str | None) -> Relations:
        return self

    def columns_of(self, item: LintedStatement) -> tuple[RelationColumn, ...] | None:
        """The columns of a query; None if they can't be told."""
        if item.parts not in self._columns:
            if item.parts in self._binding:
                return None
            self._binding.add(item.parts)
            try:
                found = self._found_columns(item)
            except SnowmeltError:
                return None
            finally:
                self._binding.discard(item.parts)
            if found is None:
                return None
            self._columns[item.parts] = found
        return self._columns[item.parts]

    def _found_columns(self, item: LintedStatement) -> tuple[RelationColumn, ...] | None:
        statement = item.statement
        declared = statement.columns if isinstance(statement, CreateTable | CreateDynamicTable) else ()
        typed = [(column.name, parse_type(column.type.text)) for column in declared if column.type is not None]
        if declared and len(typed) == len(declared) and all(type_ is not None for _, type_ in typed):
            return tuple(RelationColumn(name, type_) for name, type_ in typed if type_ is not None)
        if isinstance(statement, CreateStream):
            return None
        text = self.full_query(item)
        if text is None:
            return None
        bound = self.bind(text)
        names = [column.name for column in getattr(statement, "columns", ())] or [
            column.name for column in bound.columns
        ]
        return tuple(RelationColumn(name, column.type) for name, column in zip(names, bound.columns, strict=False))

    def full_query(self, item: LintedStatement) -> str | None:
        """The query that a relation stands for; of a dimension the one that its clauses make."""
        statement = item.statement
        if isinstance(statement, CreateDynamicTable) and statement.dimension is not None:
            dimension = statement.dimension
            if dimension.stream is not None:
                return None
            probe = self.bind(scd.probe_of(dimension, dimension.source))
            events = [scd.EventColumn(column.name, column.type) for column in probe.columns]
            return scd.query_of(scd.events_of(dimension, dimension.source, events))
        query = getattr(statement, "query", None)
        return query.text if isinstance(query, SqlText) else None

    def bind(self, text: str) -> BoundQuery:
        """Raises the binder's error, which is about what is unknown here or wrong there."""
        context = SessionContext(now=datetime(2000, 1, 1, tzinfo=UTC))
        return QueryBinder(Environment(self, context)).bind(parse_snowflake(text))

    def scanned(self) -> dict[str, tuple[tuple[str, DataType], ...]]:
        """The columns of all that was bound, by the reference that the binder got."""
        return {
            ".".join(parts): tuple((column.name, column.type) for column in columns)
            for parts, columns in self._columns.items()
        }


def _agree(left: Parts, right: Parts) -> bool:
    """Whether two names, each with as many parts as somebody wrote, can mean the same."""
    return all(one == other for one, other in zip(reversed(left), reversed(right), strict=False))


def library(files: Iterable[tuple[str, str]]) -> Library:
    """From pairs of a file's name and its text."""
    return Library(tuple(item for file, text in files for item in read_items(file, text)))


def parsed(query: SqlText) -> exp.Expr | None:
    try:
        return parse_snowflake(query.text)
    except SnowmeltError:
        return None
