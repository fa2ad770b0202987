"""Statements that write rows, as queries: what they put into which column of their target.

A MERGE is not a query, but each of its clauses puts the values of a query over its source into columns. Those queries
can be bound and traced as any other; nobody ever runs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from snowmelt.features.loading.copy_statements import CopyIntoLocation, CopyIntoTable
from snowmelt.features.loading.stage_statements import Location, StageLocation
from snowmelt.sql.dialect import identifier, parse_snowflake
from snowmelt.sql.statements.base import NameRef, Statement
from snowmelt.sql.statements.dml import (
    Assignment,
    InsertStatement,
    MatchedUpdate,
    MergeStatement,
    NotMatchedInsert,
    UpdateStatement,
)
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.tokens import SqlText

_FROM = "SELECT 1 FROM "
_VALUES = re.compile(r"\s*VALUES\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A query whose outputs go into columns of the target."""

    query: exp.Expr
    columns: tuple[str, ...] | None = None
    """One an output; None where the outputs go by `by_name`, or to the target's columns in their order."""
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """What a statement writes. Rows that come out of files unchanged have a `location` and no query."""

    operation: str
    target: NameRef | Location
    parts: tuple[WrittenPart, ...] = ()
    location: Location | None = None
    columns: tuple[str, ...] | None = None
    """Which columns the fields of files go into, one after the other; None for all of the target's."""
    by_name: bool = False
    """Fields of files go into the columns of their names."""


def writes_rows(statement: Statement) -> bool:
    """Whether the statement may take rows from somewhere; cheaper than looking. A list of values does not."""
    if isinstance(statement, InsertStatement):
        return not _VALUES.match(statement.source.text)
    return type(statement) in _SHAPES


def write_of(statement: Statement) -> Write | None:
    """What a statement writes; None if it takes rows from nowhere: it only reads, or writes constants."""
    shape = _SHAPES.get(type(statement))
    write: Write | None = shape(statement) if shape is not None else None
    if write is None or write.location is not None:
        return write
    return write if any(part.query.find(exp.Table) is not None for part in write.parts) else None


def _insert(statement: InsertStatement) -> Write:
    return Write("INSERT", statement.target, (WrittenPart(_parsed(statement.source), statement.columns),))


def _create(statement: CreateTable) -> Write | None:
    if statement.query is not None:
        columns = tuple(column.name for column in statement.columns)
        part = WrittenPart(_parsed(statement.query), columns or None, by_name=not columns)
        return Write("CREATE_TABLE_AS_SELECT", statement.name, (part,))
    if statement.clone is not None:
        return Write("CLONE", statement.name, (WrittenPart(_everything(statement.clone.name), by_name=True),))
    return None


def _update(statement: UpdateStatement) -> Write:
    query = _values([value for _, value in statement.assignments])
    query.set("from_", exp.From(this=_table(statement.target, statement.alias)))
    if statement.from_ is not None:
        joined = _reading(statement.from_)
        query.set("joins", [exp.Join(this=joined.args["from_"].this), *(joined.args.get("joins") or [])])
    if statement.where is not None:
        query.set("where", exp.Where(this=_parsed(statement.where)))
    return Write("UPDATE", statement.target, (WrittenPart(query, _assigned(statement.assignments)),))


def _merge(statement: MergeStatement) -> Write:
    parts: list[WrittenPart] = []
    for clause in statement.clauses:
        if isinstance(clause, MatchedUpdate | NotMatchedInsert) and clause.all_by_name:
            parts.append(
                WrittenPart(_joined(exp.select("*"), statement, clause.condition, matched=False), by_name=True)
            )
        elif isinstance(clause, MatchedUpdate):
            query = _values([value for _, value in clause.assignments])
            query = _joined(query, statement, clause.condition, matched=True)
            parts.append(WrittenPart(query, _assigned(clause.assignments)))
        elif isinstance(clause, NotMatchedInsert):
            # What is inserted sees the source alone: a bare name that the target has too is not ambiguous.
            query = _joined(_values(list(clause.values)), statement, clause.condition, matched=False)
            named = None if clause.columns is None else tuple(column.parts[-1] for column in clause.columns)
            parts.append(WrittenPart(query, named))
    return Write("MERGE", statement.target, tuple(parts))


def _joined(query: exp.Select, statement: MergeStatement, condition: SqlText | None, *, matched: bool) -> exp.Select:
    query.set("from_", _reading(statement.source).args["from_"])
    if matched:
        target = _table(statement.target, statement.alias)
        query.set("joins", [exp.Join(this=target, on=_parsed(statement.on))])
        if condition is not None:
            query.set("where", exp.Where(this=_parsed(condition)))
    return query


def _load(statement: CopyIntoTable) -> Write:
    if statement.query is not None:
        return Write("COPY", statement.target, (WrittenPart(_parsed(statement.query), statement.columns),))
    # Without FROM the files are in the table's own stage.
    location = statement.source or StageLocation("TABLE", statement.target)
    by_name = (statement.options.match_by_column_name or "NONE") != "NONE"
    return Write("COPY", statement.target, location=location, columns=statement.columns, by_name=by_name)


def _unload(statement: CopyIntoLocation) -> Write | None:
    if statement.query is not None:
        return Write("UNLOAD", statement.target, (WrittenPart(_parsed(statement.query), by_name=True),))
    assert statement.table is not None
    return Write("UNLOAD", statement.target, (WrittenPart(_everything(statement.table), by_name=True),))


def _values(values: list[SqlText]) -> exp.Select:
    return exp.select(*[exp.alias_(_parsed(value), f"V{index}") for index, value in enumerate(values)])


def _assigned(assignments: tuple[Assignment, ...]) -> tuple[str, ...]:
    return tuple(column.parts[-1] for column, _ in assignments)


def _everything(name: NameRef) -> exp.Expr:
    return exp.select("*").from_(_table(name, None))


def _table(name: NameRef, alias: str | None) -> exp.Table:
    table, *containers = reversed([identifier(part) for part in name.parts])
    parts = dict(zip(("db", "catalog"), containers, strict=False))
    shown = exp.TableAlias(this=identifier(alias)) if alias is not None else None
    return exp.Table(this=table, **parts, alias=shown)


def _reading(source: SqlText) -> exp.Expr:
    return parse_snowflake(_FROM + source.text)


def _parsed(text: SqlText) -> exp.Expr:
    return parse_snowflake(text.text, line=text.line, column=text.column)


_SHAPES: dict[type[Statement], Callable[[Any], Write | None]] = {
    InsertStatement: _insert,
    CreateTable: _create,
    UpdateStatement: _update,
    MergeStatement: _merge,
    CopyIntoTable: _load,
    CopyIntoLocation: _unload,
}
