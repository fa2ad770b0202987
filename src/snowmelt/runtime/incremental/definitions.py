"""Binding the query of a dynamic table: at chosen versions, noting everything that it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.incremental import boundaries, python_frames
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.rights.authority import Authority
from snowmelt.sql import spark_frames
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import ChangeSpan, Relation, RelationColumn, ScalarRoutine, TimeTravel
from snowmelt.state.dynamic_model import Dependency, DynamicDefinition
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    ObjectKind,
    RoutineDefinition,
    TableDefinition,
    ViewDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Choose = Callable[[CatalogObject], int]
"""The version of a source table to read."""
_SESSION_ONLY = {
    "user": "CURRENT_USER", "role": "CURRENT_ROLE", "database": "CURRENT_DATABASE", "schema": "CURRENT_SCHEMA",
    "warehouse": "CURRENT_WAREHOUSE", "session_id": "CURRENT_SESSION", "last_query_ids": "LAST_QUERY_ID",
    "transaction_id": "CURRENT_TRANSACTION",
}  # fmt: skip
"""What only the session that asks can answer: a dynamic table has none."""


class _DefinitionContext(SessionContext):
    """Notes whether the query uses the current time. Refuses what depends on the session or its user."""

    def __getattribute__(self, name: str) -> Any:
        if name == "now":
            object.__setattr__(self, "asked", True)
        elif name in _SESSION_ONLY:
            raise errors.compilation(
                "002716", "0A000",
                f"Unsupported context function '{_SESSION_ONLY[name]}' used in dynamic table definition.",
            )  # fmt: skip
        return super().__getattribute__(name)

    def at(self, instant: datetime) -> SessionContext:
        """What the function answers at another data timestamp. That it may be asked at all was decided before."""
        values = {item.name: object.__getattribute__(self, item.name) for item in fields(SessionContext)}
        return SessionContext(**values | {"now": instant})


class _PolicyContext(_DefinitionContext):
    """As the context of the definition, for its policies: they are asked for somebody, the role that refreshes."""

    def __getattribute__(self, name: str) -> Any:
        if name == "now":
            object.__setattr__(self, "asked", True)
        return object.__getattribute__(self, name)


@dataclass(slots=True)
class _Reading:
    """What one binding shares between the query and the views inside it."""

    choose: Choose
    context: SessionContext
    known: Mapping[str | ObjectName, Sequence[str]]
    """Columns of relations by object id and by name, as they were when the table was created."""
    found: dict[tuple[str, ObjectName], Dependency] = field(default_factory=dict)
    tables: dict[str, CatalogObject] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    python: str | None = None
    """The function that computes rows with Spark, if one does."""
    bounded: frozenset[ObjectName] = frozenset()
    """What is read through a refresh boundary."""
    asked: SessionContext | None = None
    """Whom the policies are asked for; it watches the clock as `context` does."""
    gone: list[str] = field(default_factory=list)
    """Columns that relations had when the table was created and have no longer, for messages."""

    def note(self, item: Dependency) -> None:
        earlier = self.found.get((item.kind, item.name))
        direct = item.direct or (earlier is not None and earlier.direct)
        self.found[item.kind, item.name] = item.model_copy(update={"direct": direct})


class DefinitionCatalog(StatementCatalog):
    """The catalog as the query of a dynamic table sees it."""

    def __init__(
        self, run: Run, state: StateReader, database: str | None, schema: str | None, reading: _Reading,
        authority: Authority | None = None,
    ) -> None:  # fmt: skip
        super().__init__(run, state, database, schema, authority)
        self.reading = reading

    def within(self, database: str, schema: str, owner: str | None) -> DefinitionCatalog:
        inner = DefinitionCatalog(self.run, self.state, database, schema, self.reading, self.rights_of(owner))
        return self.entered(inner, owner)

    def relation_of(self, found: CatalogObject, when: TimeTravel | None) -> Relation:
        if when is not None:
            _refuse("AT and BEFORE")
        if found.session_id is not None:
            _refuse(f"the temporary table {found.name}")
        definition = found.definition
        if found.kind not in RELATIONS:
            _refuse(f"the {found.kind.lower()} {found.name}")
        if isinstance(definition, ViewDefinition):
            relation = self._view(found, definition)
        else:
            assert isinstance(definition, TableDefinition)
            relation = self._table(found, definition, None)
            self.reading.tables[found.id] = found
        known = self.reading.known.get(found.id) or self.reading.known.get(found.name)
        if known is not None:
            columns = tuple(column for column in relation.columns if column.name in known)
            relation = replace(relation, columns=columns)
            self.reading.gone += [f"'{name}' of {found.name}" for name in known if name not in _names(columns)]
        names = known if known is not None else [column.name for column in relation.columns]
        self._note(found, tuple(names))
        return relation

    def guarded(self, found: CatalogObject, relation: Relation) -> Relation:
        relation = super().guarded(found, relation)
        if relation.protection is not None:
            for key, item in self.reading.found.items():
                if item.object_id == found.id:
                    mark = f"{self.run.account.policies.mark(self.state, found)}:{_roles(self.run)}"
                    self.reading.found[key] = item.model_copy(update={"policies": mark})
        return relation

    def policy_context(self) -> SessionContext | None:
        asked = self.reading.asked
        if asked is None:
            return super().policy_context()
        # Not `replace`: that would read the clock.
        object.__setattr__(asked, "invoker", self.invoker)
        return asked

    def distinct_values(self, query: BoundQuery) -> Sequence[exp.Expr]:
        raise errors.unsupported(
            "PIVOT … IN (ANY) or IN (query) in a dynamic table",
            hint="List the values: the columns of a dynamic table stay the same.",
        )

    def _note(self, found: CatalogObject, columns: tuple[str, ...]) -> None:
        kind: Literal["TABLE", "VIEW", "DYNAMIC_TABLE"] = "TABLE"
        mark = ""
        if isinstance(found.definition, ViewDefinition):
            kind, mark = "VIEW", fingerprint([found])
        elif isinstance(found.definition, TableDefinition) and found.definition.dynamic is not None:
            kind = "DYNAMIC_TABLE"
        self.reading.note(
            Dependency(
                name=found.name, kind=kind, object_id=found.id, columns=columns, fingerprint=mark,
                bounded=found.name in self.reading.bounded, direct=self.outermost,
            )
        )  # fmt: skip

    def _table(self, table: CatalogObject, definition: TableDefinition, when: TimeTravel | None) -> Relation:
        version = self.version(table, definition, None)
        # The columns of today over the rows of that version, which may have been written under others.
        return self.pin(table, definition, version, self.state.shapes.at(table.id, version))

    def version(self, table: CatalogObject, definition: TableDefinition, when: TimeTravel | None) -> int:
        if table.id not in self.reading.versions:
            bounded = table.name in self.reading.bounded
            self.reading.versions[table.id] = self.reading.choose(boundaries.as_base(table) if bounded else table)
        return self.reading.versions[table.id]

    def routine(self, parts: tuple[str, ...]) -> list[ScalarRoutine]:
        routines = super().routine(parts)
        if routines:
            full = self.full_name(parts)
            found = self.state.catalog.routines(full, ObjectKind.FUNCTION, self.run.session.id)
            self.reading.note(
                Dependency(
                    name=full, kind="FUNCTION", object_id=found[0].id, fingerprint=fingerprint(found),
                    direct=self.outermost,
                )
            )  # fmt: skip
        return routines

    def changes(self, parts: tuple[str, ...], span: ChangeSpan) -> Relation:
        _refuse("CHANGES")

    def metadata_view(self, name: ObjectName) -> Relation:
        _refuse(f"INFORMATION_SCHEMA.{name.name}")

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        _refuse(f"the stage {location}")

    def table_function(self, name: str, arguments: dict[str, exp.Expr]) -> Relation:
        if name != spark_frames.FUNCTION:
            _refuse(f"the table function {name}")
        call = spark_frames.read(arguments)
        self.reading.python = call.handler
        return python_frames.relation(self, self.reading.context, call)

    def system_function(self, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if name.startswith("SYSTEM$") or name == "GET_DDL":
            _refuse(name)
        return None

    def variable(self, name: str) -> exp.Expr | None:
        _refuse(f"the session variable ${name}")

    def next_value(self, parts: tuple[str, ...]) -> exp.Expr | None:
        if super().next_value(parts) is not None:
            _refuse(f"the sequence {'.'.join(parts)}")
        return None


def _refuse(feature: str) -> NoReturn:
    raise errors.unsupported(f"{feature} in a dynamic table")


def fingerprint(items: Iterable[CatalogObject]) -> str:
    """Changes whenever one of these views or functions means something else."""
    digest = hashlib.sha256()
    for item in items:
        definition = item.definition
        assert isinstance(definition, ViewDefinition | RoutineDefinition)
        # How it was typed and what it is called do not matter.
        digest.update(definition.model_dump_json(exclude={"text", "secure", "change_tracking"}).encode())
    return digest.hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class BoundDefinition:
    """A dynamic table's query at certain versions of its sources."""

    query: BoundQuery
    dependencies: tuple[Dependency, ...]
    sources: Mapping[str, CatalogObject]
    """The tables that it reads, by id."""
    versions: Mapping[str, int]
    """The version of each of them."""
    bounded: frozenset[ObjectName]
    """Those that are read through a refresh boundary."""
    time_dependent: bool
    python: str | None
    """The function that computes rows with Spark, if one does."""
    environment: Environment
    """In which other expressions over the table mean the same; valid as long as the reader is open."""


def _roles(run: Run) -> str:
    """Changes with the roles that the run has: what policies may have asked for."""
    context = run.context
    return hashlib.sha256(repr((context.role, sorted(context.roles))).encode()).hexdigest()[:12]


def _names(columns: Iterable[RelationColumn]) -> set[str]:
    return {column.name for column in columns}


def _explained(error: SnowmeltError, gone: Sequence[str]) -> SnowmeltError:
    """The error of a binding, with the columns that are gone where it does not name them: views count columns only."""
    missing = [column for column in dict.fromkeys(gone) if column.split(" ", 1)[0] not in error.message]
    if not missing or len(missing) < len(set(gone)):
        return error
    message = f"{error.message} Gone since the dynamic table was created: column {', column '.join(missing)}."
    return SnowmeltError(error.code, error.sqlstate, message, hint=error.hint, transient=error.transient)


def bind(
    run: Run,
    state: StateReader,
    name: ObjectName,
    definition: DynamicDefinition,
    at: datetime,
    choose: Choose,
    known: Iterable[Dependency] = (),
    authority: Authority | None = None,
) -> BoundDefinition:
    """The query as of a data timestamp, which is also what CURRENT_TIMESTAMP gives, with the rights of the run.

    `known`: what earlier bindings found; a source's columns that were added since are left out.
    """
    # By name too: what took the place of a relation is asked for the columns that the table was made of.
    relations = [item for item in known if item.kind != "FUNCTION"]
    columns: dict[str | ObjectName, Sequence[str]] = {item.name: item.columns for item in relations}
    columns |= {item.object_id: item.columns for item in relations}
    plain = run.context.at(at)
    stated = {item.name: getattr(plain, item.name) for item in fields(SessionContext)}
    context, asked = _DefinitionContext(**stated), _PolicyContext(**stated)
    reading = _Reading(choose, context, columns, asked=asked)
    catalog = DefinitionCatalog(run, state, definition.database, definition.schema_, reading, authority)
    catalog.defining = name
    tree, reading.bounded = boundaries.removed(catalog, parse_snowflake(definition.query))
    try:
        query = QueryBinder(Environment(catalog, context)).bind(tree)
    except SnowmeltError as error:
        raise _explained(error, reading.gone) from error
    return BoundDefinition(
        query=query,
        dependencies=tuple(reading.found.values()),
        sources=reading.tables,
        versions=reading.versions,
        time_dependent=any(vars(one).get("asked") for one in (context, asked)),
        bounded=reading.bounded,
        python=reading.python,
        environment=Environment(catalog, plain),
    )


def at_versions(
    run: Run, state: StateReader, definition: DynamicDefinition, at: datetime, choose: Choose,
    sources: Mapping[str, CatalogObject],
) -> tuple[Mapping[str, int], Environment] | None:  # fmt: skip
    """Pins the sources of a definition that was bound before, and gives their versions and the environment of `bind`.

    None when one of them has to be read in a shape that it had in the past.
    """
    context = run.context.at(at)
    reading = _Reading(choose, context, {})
    catalog = DefinitionCatalog(run, state, definition.database, definition.schema_, reading)
    past = state.shapes.past(sources.keys())
    for table in sources.values():
        assert isinstance(table.definition, TableDefinition)
        version = catalog.version(table, table.definition, None)
        if past.get(table.id, -1) >= version:
            return None
        catalog.pin(table, table.definition, version)
    return reading.versions, Environment(catalog, context)
