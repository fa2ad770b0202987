"""What features add to the language: the statements of their kinds of objects, and clauses behind SET and UNSET.

`snowmelt.accounts` lists the features. What they add is looked up here while a statement is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from snowmelt.core.composing import Composed
from snowmelt.core.kinds import OWN_TYPES
from snowmelt.sql.statements.base import Action, Annotation, ObjectType, Statement, StatementKind
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.cursor import TokenCursor

Parser = Callable[[TokenCursor], Statement]
AlterParser = Callable[[TokenCursor, ObjectType], Statement]
Classified = StatementKind | Callable[[Any], StatementKind]
"""What a statement is, or how to tell that from the statement."""

_OWN_NAME_PARTS = {ObjectType.DATABASE: 1, ObjectType.WAREHOUSE: 1, ObjectType.SCHEMA: 2}


@dataclass(frozen=True, slots=True)
class KindSyntax:
    """The statements about one kind of object. DROP, SHOW, GRANT and COMMENT ON need nothing but its name."""

    name: ObjectType
    create: CreateRule
    alter: AlterParser
    statements: Mapping[type[Statement], Classified]
    """What its own statements are."""
    also_created: Mapping[str, CreateRule] = field(default_factory=dict)
    """More ways to create one, by the word behind CREATE: `CREATE SCD …` makes a dynamic table."""
    name_parts: int = 3
    """How many parts its name may have: one for what lives in no database."""
    has_arguments: bool = False
    """Whether the types of arguments belong to the name, as for a function."""
    execute: Parser | None = None
    """What follows EXECUTE and the kind."""
    is_described: bool = False
    is_undropped: bool = False
    has_history: bool = False
    """Whether SHOW takes HISTORY, which lists what was dropped too."""
    shown_as: tuple[str, ...] = ()
    """More words of SHOW, besides the plural."""

    @property
    def plural(self) -> str:
        return self.name.plural


@dataclass(frozen=True, slots=True)
class AnnotationSyntax:
    """A clause that ALTER of every table, view, schema and database takes: `SET TAG …`."""

    word: str
    parse: Callable[[TokenCursor, str, str | None], Annotation]
    """Reads what follows the verb (SET or UNSET), from the word on. The last argument is the column, if any."""
    parse_created: Callable[[TokenCursor, str | None], Annotation] | None = None
    """Reads it in CREATE of a table or view, behind a column and perhaps WITH, from the word on; None where CREATE
    does not have it."""
    of_whole: bool = False
    """Whether CREATE has it for the object itself, too."""


@dataclass(frozen=True, slots=True)
class ClauseSyntax:
    """A clause of ALTER TABLE, such as `ADD QUALITY CHECK …`."""

    verb: str
    words: tuple[str, ...]
    """What follows the verb."""
    parse: Callable[[TokenCursor], Action]
    """Reads what follows the words."""
    of_dynamic: bool = True
    """Whether ALTER DYNAMIC TABLE has it too."""
    of_view: bool = False
    """Whether ALTER VIEW has it too."""
    in_create: bool = False
    """Whether CREATE of a table or view has it too, without the verb and perhaps behind WITH."""


@dataclass(frozen=True, slots=True)
class StatementSyntax:
    """Statements that are about no kind of object of the feature's own."""

    verbs: Mapping[str, Parser]
    """By the words that they begin with. Reads what follows those."""
    statements: Mapping[type[Statement], Classified]


@dataclass(frozen=True)
class Grammar:
    """All that features add."""

    kinds: tuple[KindSyntax, ...]
    annotations: tuple[AnnotationSyntax, ...] = ()
    clauses: tuple[ClauseSyntax, ...] = ()
    groups: tuple[StatementSyntax, ...] = ()
    more_shown: tuple[str, ...] = ()
    """Words of SHOW that are no kinds of objects."""

    @cached_property
    def types(self) -> tuple[ObjectType, ...]:
        """All kinds, those that no feature brings first."""
        return (*OWN_TYPES, *(kind.name for kind in self.kinds))

    @cached_property
    def name_parts(self) -> dict[ObjectType, int]:
        return _OWN_NAME_PARTS | {kind.name: kind.name_parts for kind in self.kinds}

    @cached_property
    def with_arguments(self) -> frozenset[ObjectType]:
        return frozenset(kind.name for kind in self.kinds if kind.has_arguments)

    @cached_property
    def also_created(self) -> dict[str, tuple[ObjectType, CreateRule]]:
        return {word: (kind.name, rule) for kind in self.kinds for word, rule in kind.also_created.items()}

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
        of_kinds = (word for kind in self.kinds for word in (kind.plural, *kind.shown_as))
        return (*of_kinds, *self.more_shown)

    @cached_property
    def with_history(self) -> frozenset[str]:
        return frozenset(kind.plural for kind in self.kinds if kind.has_history)

    @cached_property
    def clause_verbs(self) -> tuple[str, ...]:
        return tuple(clause.verb for clause in self.clauses)

    @cached_property
    def verbs(self) -> dict[str, list[tuple[list[str], Parser]]]:
        """How statements begin, by their first word; what has more words is tried first."""
        found: dict[str, list[tuple[list[str], Parser]]] = {}
        for words, parser in ((words.split(), each) for group in self.groups for words, each in group.verbs.items()):
            found.setdefault(words[0], []).append((words, parser))
        return {word: sorted(parsers, key=lambda known: -len(known[0])) for word, parsers in found.items()}

    @cached_property
    def described(self) -> tuple[ObjectType, ...]:
        return tuple(kind.name for kind in self.kinds if kind.is_described)

    @cached_property
    def statements(self) -> dict[type[Statement], Classified]:
        parts: list[KindSyntax | StatementSyntax] = [*self.kinds, *self.groups]
        return {statement: known for part in parts for statement, known in part.statements.items()}


_GRAMMAR: Composed[Grammar] = Composed()


def install(grammar: Grammar) -> None:
    """Makes this what every statement is read with from now on, in the whole process."""
    _GRAMMAR.set(grammar)


def grammar() -> Grammar:
    return _GRAMMAR.get()


def name_parts(kind: ObjectType) -> int:
    """How many parts a name of this kind may have."""
    return grammar().name_parts.get(kind, 3)


def has_arguments(kind: ObjectType) -> bool:
    """Whether the types of arguments belong to a name of this kind."""
    return kind in grammar().with_arguments


def annotation(cursor: TokenCursor, verb: str, column: str | None = None) -> Annotation | None:
    """The clause of a feature that follows SET or UNSET; None for the options of the object itself."""
    for known in grammar().annotations:
        if cursor.at(known.word) and cursor.peek(1).word != "=":
            return known.parse(cursor, verb, column)
    return None


def table_clause(cursor: TokenCursor, verb: str, *, dynamic: bool = False, view: bool = False) -> Action | None:
    """The clause of a feature that follows a verb of ALTER TABLE; None where the words are no feature's."""
    for known in grammar().clauses:
        fits = (known.of_dynamic or not dynamic) and (known.of_view or not view)
        if known.verb == verb and fits and cursor.match(*known.words):
            return known.parse(cursor)
    return None


def declared_of_container(cursor: TokenCursor) -> tuple[Annotation, ...]:
    """What CREATE SCHEMA or CREATE DATABASE says in the words of a feature."""
    start = cursor.index
    cursor.match("WITH")
    for known in grammar().annotations:
        if known.of_whole and known.parse_created is not None and cursor.at(known.word, "("):
            return (known.parse_created(cursor, None),)
    cursor.index = start
    return ()


def declared(cursor: TokenCursor, column: str | None = None) -> Annotation | None:
    """What CREATE says of a column, or of the whole, in the words of a feature; None where they are no feature's."""
    start = cursor.index
    cursor.match("WITH")
    for known in grammar().annotations:
        created = known.parse_created if column is not None or known.of_whole else None
        if created is not None and cursor.at(known.word):
            return created(cursor, column)
    for clause in grammar().clauses if column is None else ():
        if clause.in_create and cursor.match(*clause.words):
            said = clause.parse(cursor)
            assert isinstance(said, Annotation)
            return said
    cursor.index = start
    return None
