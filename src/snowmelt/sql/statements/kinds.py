"""What features add to the language: the statements of their kinds of objects, and clauses behind SET and UNSET.

`snowmelt.accounts` lists the features. What they add is looked up here while a statement is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from snowmelt.core.composing import Composed
from snowmelt.sql.statements.base import ObjectType, Statement, StatementKind
from snowmelt.sql.statements.changes import Annotation
from snowmelt.sql.statements.cursor import Cursor
from snowmelt.sql.statements.heads import CreateRule

Parser = Callable[[Cursor], Statement]
AlterParser = Callable[[Cursor, ObjectType], Statement]


@dataclass(frozen=True, slots=True)
class KindSyntax:
    """The statements about one kind of object. DROP, SHOW, GRANT and COMMENT ON need nothing but its name."""

    name: ObjectType
    create: CreateRule
    alter: AlterParser
    statements: Mapping[type[Statement], StatementKind]
    """What its own statements are."""
    execute: Parser | None = None
    """What follows EXECUTE and the kind."""
    is_described: bool = False
    is_undropped: bool = False
    shown_as: tuple[str, ...] = ()
    """More words of SHOW, besides the plural."""

    @property
    def plural(self) -> str:
        return f"{self.name}S"


@dataclass(frozen=True, slots=True)
class AnnotationSyntax:
    """A clause that ALTER of every table, view, schema and database takes: `SET TAG …`."""

    word: str
    parse: Callable[[Cursor, str, str | None], Annotation]
    """Reads what follows the verb (SET or UNSET), from the word on. The last argument is the column, if any."""


@dataclass(frozen=True)
class Grammar:
    """All that features add."""

    kinds: tuple[KindSyntax, ...]
    annotations: tuple[AnnotationSyntax, ...] = ()

    @cached_property
    def types(self) -> tuple[ObjectType, ...]:
        return tuple(kind.name for kind in self.kinds)

    @cached_property
    def create(self) -> dict[ObjectType, CreateRule]:
        return {kind.name: kind.create for kind in self.kinds}

    @cached_property
    def alter(self) -> dict[ObjectType, AlterParser]:
        return {kind.name: kind.alter for kind in self.kinds}

    @cached_property
    def undropped(self) -> dict[ObjectType, None]:
        return dict.fromkeys(kind.name for kind in self.kinds if kind.is_undropped)

    @cached_property
    def modifiers(self) -> frozenset[str]:
        return frozenset().union(*(kind.create.modifiers for kind in self.kinds))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        return tuple(word for kind in self.kinds for word in (kind.plural, *kind.shown_as))

    @cached_property
    def described(self) -> tuple[ObjectType, ...]:
        return tuple(kind.name for kind in self.kinds if kind.is_described)

    @cached_property
    def statements(self) -> dict[type[Statement], StatementKind]:
        return {statement: known for kind in self.kinds for statement, known in kind.statements.items()}


_GRAMMAR: Composed[Grammar] = Composed()


def install(grammar: Grammar) -> None:
    """Makes this what every statement is read with from now on, in the whole process."""
    _GRAMMAR.set(grammar)


def grammar() -> Grammar:
    return _GRAMMAR.get()


def annotation(cursor: Cursor, verb: str, column: str | None = None) -> Annotation | None:
    """The clause of a feature that follows SET or UNSET; None for the options of the object itself."""
    for known in grammar().annotations:
        if cursor.at(known.word) and cursor.peek(1).word != "=":
            return known.parse(cursor, verb, column)
    return None
