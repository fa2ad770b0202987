"""What UPDATE, DELETE and MERGE have in common: rows of a target, perhaps joined to a source, and what becomes of them.

Every expression in a plan is Spark SQL over two aliases: `__t` for the target, with its columns under their own names,
and `__s` for the source, with its columns as c0, c1, ….
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.sql.dialect import identifier
from snowmelt.state.model import CatalogObject, TableDefinition

TARGET = "__t"
SOURCE = "__s"
ID = "__id"
"""Numbers the rows of the source, so that the ones without a match are known."""
NUMBER = "__number:"
"""Before the name of an AUTOINCREMENT column: the source's column with the numbers for inserted rows."""
ACTION = "__action"
"""The position of the clause that a row falls under."""
CHECKED = "__checked"


class Act(StrEnum):
    UPDATE = "updated"
    DELETE = "deleted"
    INSERT = "inserted"


@dataclass(frozen=True, slots=True)
class RewriteClause:
    """One thing to do, with the rows for which no clause before it applied."""

    act: Act
    condition: exp.Expr | None = None
    values: Mapping[str, exp.Expr] | None = None
    """The new values by column in stored form, cast and checked: those assigned by an update, all for an insert."""
    constants: Mapping[str, Any] | None = None
    """The same values in Python, where all of them are literals and nothing is left to check."""
    check: exp.Expr | None = None
    """True, or fails the statement: the CHECK constraints of the row that comes out."""

    def trees(self) -> Iterator[exp.Expr]:
        if self.condition is not None:
            yield self.condition
        yield from (self.values or {}).values()
        if self.check is not None:
            yield self.check


@dataclass(frozen=True, slots=True)
class SourceColumnRef:
    key: str
    type: DataType


@dataclass(frozen=True, slots=True)
class PlannedSource:
    tree: exp.Select
    """Has the columns c0, c1, …."""
    columns: tuple[SourceColumnRef, ...]
    items: int
    """How many relations it joins."""


@dataclass(frozen=True, slots=True)
class ChangePlan:
    operation: str
    """UPDATE, DELETE or MERGE."""
    table: CatalogObject
    source: PlannedSource | None
    conjuncts: tuple[exp.Expr, ...]
    """What makes a target row and a source row a match, to be joined by AND."""
    clauses: tuple[RewriteClause, ...]
    picks: bool = False
    """Whether a target row that several source rows would change takes any one of them, instead of failing."""
    numbered: tuple[str, ...] = ()
    """AUTOINCREMENT columns that inserted rows get numbers for."""

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    @property
    def inserts(self) -> bool:
        return any(clause.act is Act.INSERT for clause in self.clauses)

    @property
    def matches(self) -> bool:
        return any(clause.act is not Act.INSERT for clause in self.clauses)

    @property
    def changed_columns(self) -> tuple[str, ...]:
        """The columns that some clause gives a value, in the table's order."""
        given = {name for clause in self.clauses for name in clause.values or ()}
        return tuple(column.name for column in self.definition.columns if column.name in given)

    def trees(self) -> Iterator[exp.Expr]:
        yield from self.conjuncts
        for clause in self.clauses:
            yield from clause.trees()

    def referenced(self, alias: str) -> set[str]:
        """The columns of the target or the source that the plan mentions."""
        return set(columns_of(self.trees(), alias))


def columns_of(trees: Iterable[exp.Expr], alias: str) -> Iterator[str]:
    for tree in trees:
        for column in tree.find_all(exp.Column):
            if column.table == alias:
                yield column.name


def tables_in(tree: exp.Expr) -> set[str]:
    """Which of the two sides an expression mentions."""
    return {column.table for column in tree.find_all(exp.Column)} & {TARGET, SOURCE}


def has_subquery(tree: exp.Expr) -> bool:
    return tree.find(exp.Query) is not None


def moved(tree: exp.Expr, replacement: Callable[[str, str], exp.Expr | None]) -> exp.Expr:
    """The tree with columns of both sides replaced by what `replacement(side, name)` gives for them."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table in (TARGET, SOURCE):
            return replacement(node.table, node.name) or node
        return node

    return tree.copy().transform(visit)


def column(alias: str, name: str) -> exp.Column:
    return exp.column(identifier(name), table=identifier(alias))


def named(tree: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=tree, alias=identifier(name))


def all_of(trees: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND; true when there are none."""
    found: exp.Expr = exp.true()
    for index, tree in enumerate(trees):
        one = exp.Paren(this=tree.copy())
        found = one if index == 0 else exp.And(this=found, expression=one)
    return found


def bare(tree: exp.Expr) -> exp.Expr:
    """The tree without the parentheses around it."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree
