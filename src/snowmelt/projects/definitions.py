"""Definitions: one object each, as a parsed CREATE statement and the text that makes it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from snowmelt.core.names import ObjectName, quote
from snowmelt.core.types import parse_type
from snowmelt.features.scripting.statements import CreateRoutine
from snowmelt.projects import errors as project_errors
from snowmelt.runtime.kinds import all_kinds
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.base import CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.databases_schemas import CreateDatabase, CreateSchema
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.sequences import CreateSequence
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView
from snowmelt.sql.statements.warehouses import CreateWarehouse
from snowmelt.sql.tokens import SqlText, tokenize

AnyCreate = (
    CreateStatement | CreateDatabase | CreateDynamicTable
    | CreateRoutine | CreateSchema | CreateSequence | CreateTable
    | CreateView | CreateWarehouse
)  # fmt: skip
_KINDS: dict[type[Statement], ObjectType] = {
    CreateDatabase: ObjectType.DATABASE, CreateSchema: ObjectType.SCHEMA, CreateSequence: ObjectType.SEQUENCE,
     CreateTable: ObjectType.TABLE,
    CreateView: ObjectType.VIEW, CreateWarehouse: ObjectType.WAREHOUSE,
}  # fmt: skip
CONTAINERS = frozenset({ObjectType.DATABASE, ObjectType.SCHEMA, ObjectType.WAREHOUSE})
"""Kinds that a project makes where they are missing, and that it neither alters nor drops."""
RELATIONS = frozenset({ObjectType.TABLE, ObjectType.VIEW, ObjectType.DYNAMIC_TABLE})


def _kinds() -> dict[type[Statement], ObjectType]:
    held = ((kind, kind.in_projects) for kind in all_kinds().all)
    return _KINDS | {how.statement: kind.name for kind, how in held if how is not None}


@dataclass(frozen=True, slots=True)
class ProjectHome:
    """Where names without a database or schema belong, and the warehouse of those that name none."""

    database: str
    schema: str
    warehouse: str | None = None

    def complete(self, parts: tuple[str, ...]) -> ObjectName:
        missing = (self.database, self.schema)[: 3 - len(parts)]
        return ObjectName(*missing, *parts)


@dataclass(frozen=True, slots=True)
class ProjectDefinition:
    kind: ObjectType
    name: str
    """Full, as SQL spells it; with the types of the arguments for a routine."""
    object: ObjectName | None
    """None for a database, a schema or a warehouse."""
    statement: AnyCreate
    text: str
    """The CREATE statement as written, without its semicolon."""
    location: str
    """`file:line`, for messages."""

    @property
    def key(self) -> tuple[ObjectType, str]:
        return self.kind, self.name

    @property
    def fingerprint(self) -> str:
        """The same for the same definition, however it is laid out."""
        words = [f"{token.kind.name}:{token.word or token.text}" for token in tokenize(self.head("CREATE")).tokens]
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]

    def head(self, verb: str) -> str:
        """The statement beginning with another verb: CREATE, CREATE OR ALTER, CREATE OR REPLACE."""
        source = tokenize(self.text)
        tokens = source.tokens
        start = 3 if tokens[1].word == "OR" else 1
        rest = source.sql.text[tokens[start].start :]
        shift = tokens[start].start
        for index in range(start, len(tokens) - 2):
            # Behind the name's first bracket or the query, the words mean something else.
            if tokens[index].word in ("(", "AS"):
                break
            if [token.word for token in tokens[index : index + 3]] == ["IF", "NOT", "EXISTS"]:
                rest = rest[: tokens[index].start - shift] + rest[tokens[index + 2].end - shift :].lstrip()
                break
        return f"{verb} {rest}"


def read_definition(sql: SqlText, location: str, home: ProjectHome) -> ProjectDefinition:
    """Raises for anything that is not a CREATE of something that lasts."""
    statement = parse_statement(sql)
    kind = _kinds().get(type(statement))
    if kind is None:
        word = tokenize(sql).tokens[0].word or "this"
        raise project_errors.project(f"A project holds definitions (CREATE …), and no {word} statement.")
    assert isinstance(statement, AnyCreate)
    if getattr(statement, "temporary", False):
        raise project_errors.project("A project can't hold a temporary object.")
    text = sql.text
    if isinstance(statement, CreateDynamicTable) and statement.options.warehouse is None and home.warehouse is not None:
        text = f"{statement.head} WAREHOUSE = {home.warehouse}{text[len(statement.head) :]}"
        read = parse_statement(text)
        assert isinstance(read, CreateDynamicTable)
        statement = read
    query = getattr(statement, "query", None)
    if isinstance(query, SqlText):
        # What can't be read is told here, where its location is known.
        parse_snowflake(query.text, line=query.line, column=query.column)
    name, full = _full_name(statement.name, kind, home)
    if isinstance(statement, CreateRoutine):
        types = [parse_type(argument.type.text) for argument in statement.arguments]
        name += f"({', '.join(str(type_.kind) if type_ is not None else 'VARIANT' for type_ in types)})"
    return ProjectDefinition(kind, name, full, statement, text, location)


def _full_name(name: NameRef, kind: ObjectType, home: ProjectHome) -> tuple[str, ObjectName | None]:
    if name.variable is not None:
        raise project_errors.project("The name of an object in a project must be written out.")
    if kind is ObjectType.SCHEMA:
        parts = name.parts if len(name.parts) == 2 else (home.database, *name.parts)
        return ".".join(map(quote, parts)), None
    if kind in CONTAINERS:
        return quote(name.parts[0]), None
    full = home.complete(name.parts)
    return str(full), full
