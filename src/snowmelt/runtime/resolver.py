"""The catalog as one statement sees it: names to table versions, views, variables and functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.names import ObjectName, quote
from snowmelt.core.types import DataType
from snowmelt.core.user_code import UserCode
from snowmelt.engine.model import TableFiles, are_few
from snowmelt.runtime import errors as statement_errors
from snowmelt.runtime import past_shapes, sequences, system_functions, table_functions
from snowmelt.runtime.rights import enforcement
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.variables import literal
from snowmelt.sql import constraints
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.relations import (
    ChangeSpan,
    ReadProtection,
    Relation,
    RelationColumn,
    ScalarRoutine,
    TimeTravel,
    ViewText,
)
from snowmelt.state.model import (
    RELATIONS,
    SELECTABLE,
    CatalogObject,
    ObjectKind,
    RoutineDefinition,
    TableDefinition,
    TableShape,
    TableVersion,
    ViewDefinition,
)
from snowmelt.state.store import StateReader

with lazy_imports():
    from snowmelt.runtime import python_code

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

INFORMATION_SCHEMA = "INFORMATION_SCHEMA"
ACCOUNT_USAGE = ("SNOWFLAKE", "ACCOUNT_USAGE")
_Catalog = TypeVar("_Catalog", bound="StatementCatalog")


class StatementCatalog:
    """Implements `sql.relations.Relations` over one snapshot of the state store."""

    def __init__(
        self, run: Run, state: StateReader, database: str | None, schema: str | None,
        authority: Authority | None = None,
    ) -> None:  # fmt: skip
        self.run = run
        self.authority = authority or run.authority
        """The rights with which names are looked up: the statement's, or those of the view's owner."""
        self.state = state.seen_by(self.authority.sight)
        self.database = database
        self.schema = schema
        self.outermost = True
        """False in the bodies of views and functions, which see no scripting variables."""
        self.defining: ObjectName | None = None
        """The view being created, which its query must not lead back to."""
        self.invoker: str | None = None
        """The owner of the view or function whose body this is the catalog of."""

    def within(self, database: str, schema: str, owner: str | None) -> StatementCatalog:
        inner = StatementCatalog(self.run, self.state, database, schema, self.rights_of(owner))
        return self.entered(inner, owner)

    def entered(self, inner: _Catalog, owner: str | None) -> _Catalog:
        """The catalog inside a body, with what it has of the one around it."""
        inner.outermost = False
        inner.defining = self.defining
        inner.invoker = owner or self.invoker
        return inner

    def full_name(self, parts: tuple[str, ...]) -> ObjectName:
        if len(parts) > 3:
            raise errors.not_found("Object", ".".join(quote(part) for part in parts))
        if len(parts) == 3:
            return ObjectName(*parts)
        if self.database is None:
            raise statement_errors.no_current_database("SELECT")
        if len(parts) == 2:
            return ObjectName(self.database, parts[0], parts[1])
        if self.schema is None:
            raise statement_errors.no_current_schema("SELECT")
        return ObjectName(self.database, self.schema, parts[0])

    # -- rights ---------------------------------------------------------------------------------------------------

    def rights_of(self, owner: str | None) -> Authority:
        """The rights of a body: those of its owner or, if it has none, those of the statement around it."""
        return self.authority if owner is None else self.run.account.access.of_role(owner)

    def require(self, privilege: str, item: CatalogObject) -> None:
        enforcement.require_object(self.run, privilege, item, self.authority)

    # -- relations ------------------------------------------------------------------------------------------------

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        name = self.full_name(parts)
        if name.schema == INFORMATION_SCHEMA:
            return self.metadata_view(name)
        if (name.database, name.schema) == ACCOUNT_USAGE:
            return self.run.account.usage_views(self.run, self.state, self.authority, name)
        found = self.state.catalog.find(name, SELECTABLE, self.run.session.id)
        if found is None:
            raise errors.not_found("Object", str(name) if len(parts) > 1 else quote(parts[0]))
        if name == self.defining:
            raise statement_errors.view_refers_to_itself()
        self.require("SELECT", found)
        if self.outermost:
            self.run.named[found.id] = found
        return self.guarded(found, self.relation_of(found, when))

    def guarded(self, found: CatalogObject, relation: Relation) -> Relation:
        """The relation with the policies of an object: the one way by which rows of it come into a query."""
        protection = self.protection_of(found)
        return relation if protection is None else replace(relation, protection=protection)

    def protection_of(self, found: CatalogObject) -> ReadProtection | None:
        """What holds for an object, and for this statement."""
        if self.run.session.sees_stored or found.id in self.run.exempt:
            return None
        return self.run.account.policies.protection(self, found)

    def policy_context(self) -> SessionContext | None:
        """Who asks, for the policies that are met here; None for whoever asks the query."""
        return None if self.invoker is None else replace(self.run.context, invoker=self.invoker)

    def metadata_view(self, name: ObjectName) -> Relation:
        return self.run.account.metadata_views(self.run, self.state, name)

    def changes(self, parts: tuple[str, ...], span: ChangeSpan) -> Relation:
        name = self.full_name(parts)
        found = self.state.catalog.find(name, SELECTABLE, self.run.session.id)
        if found is None:
            raise errors.not_found("Object", str(name) if len(parts) > 1 else quote(parts[0]))
        self.require("SELECT", found)
        return self.run.account.changes.changes(self, found, span)

    def relation_of(self, found: CatalogObject, when: TimeTravel | None) -> Relation:
        if found.kind not in RELATIONS:
            if when is not None:
                raise errors.unsupported("time travel on a stream")
            return self.run.account.changes.relation(self, found)
        if isinstance(found.definition, ViewDefinition):
            if when is not None:
                raise errors.unsupported(
                    "time travel on a view", hint="Put AT or BEFORE behind the tables in its query."
                )
            return self._view(found, found.definition)
        assert isinstance(found.definition, TableDefinition)
        if found.definition.dynamic is not None and self.defining is None:
            # A view that is being created reads no rows: it may stand before those that it will show.
            self._check_initialized(found)
        return self._table(found, found.definition, when)

    def _check_initialized(self, table: CatalogObject) -> None:
        dynamic = self.state.dynamic.get(table.id)
        if dynamic is None or dynamic.data_timestamp is None:
            raise errors.not_initialized(str(table.name))

    def _view(self, view: CatalogObject, definition: ViewDefinition) -> Relation:
        self.run.bodies[view.id] = view
        return Relation(
            name=str(view.name),
            columns=tuple(RelationColumn(column.name, column.type) for column in definition.columns),
            view=ViewText(
                str(view.name),
                definition.query,
                definition.database,
                definition.schema_,
                view.owner,
                sealed=not enforcement.may_read_definition(self.run, view),
            ),
        )

    def _table(self, table: CatalogObject, definition: TableDefinition, when: TimeTravel | None) -> Relation:
        version = self.version(table, definition, when)
        shape = self.state.shapes.at(table.id, version) if when is not None else None
        return self.pin(table, definition, version, shape)

    def pin(
        self, table: CatalogObject, definition: TableDefinition, version: int, shape: TableShape | None = None
    ) -> Relation:
        """Makes one version of a table readable by the statement; `shape` is the one it had, if not today's."""
        reference = f"t_{table.id}_{version}"
        sources = None
        if shape is not None:
            sources = past_shapes.column_sources(Environment(self, self.run.context), definition, shape)
            reference = f"{reference}_{past_shapes.fingerprint(sources)}"
        if reference not in self.run.tables:
            files = self.run.account.store.files(definition.location, version)
            self.run.tables[reference] = TableFiles(
                reference=reference,
                columns=definition.columns,
                files=files.uris,
                delta_path=None if files.plain else self.run.account.store.root.uri_of(definition.location),
                version=version,
                sources=sources,
                bytes=files.total_bytes,
                in_order=are_few(len(files.by_path), files.total_rows),
            )
            self.run.input_bytes += files.total_bytes
        return Relation(
            name=str(table.name),
            columns=tuple(RelationColumn(c.name, c.type, c.nullable) for c in definition.columns),
            reference=reference,
        )

    def version(self, table: CatalogObject, definition: TableDefinition, when: TimeTravel | None) -> int:
        """The Delta version to read: this transaction's own, the visible one, or the one of a point in time."""
        if when is not None:
            return self.version_at(table, when).version
        own = self.run.pending_version(table.id)
        if own is not None:
            return own
        visible = self.state.versions.visible(table.id)
        if visible is None:
            raise errors.not_found("Object", str(table.name))
        seen, chosen = self.run.adopted.get(table.id, (-1, -1))
        if seen == visible.version:
            return chosen
        account = self.run.account
        if account.store.has_version(definition.location, visible.version + 1):
            chosen = account.transactions.adopt(table, visible).version
            self.run.adopted[table.id] = (visible.version, chosen)
            return chosen
        return visible.version

    def version_at(self, table: CatalogObject, when: TimeTravel) -> TableVersion:
        """The version of a point in time."""
        versions = self.state.versions
        if when.kind == "STREAM":
            found = self.run.account.changes.version_at(self, table, when)
        elif when.kind == "STATEMENT":
            query_id = str(self.run.evaluate(when.expression).value)
            found = self._version_of_statement(table, query_id, before=when.before)
        else:
            instant = self.instant(when)
            found = versions.as_of(table.id, instant - timedelta(microseconds=1) if when.before else instant)
        if found is None:
            raise errors.time_travel_unavailable(table.name.name)
        return found

    def _version_of_statement(self, table: CatalogObject, query_id: str, *, before: bool) -> TableVersion | None:
        record = self.run.account.journal.get(query_id)
        if record is None:
            raise errors.statement_not_found(query_id)
        if before:
            found = self.state.versions.before_query(table.id, query_id)
            return found or self.state.versions.as_of(table.id, record.start_time)
        own = [version for version in self.state.versions.of_query(query_id) if version.table_id == table.id]
        return own[-1] if own else self.state.versions.as_of(table.id, record.end_time or record.start_time)

    def instant(self, when: TimeTravel) -> datetime:
        value = self.run.evaluate(when.expression).value
        if when.kind == "OFFSET":
            if not isinstance(value, int | float) and value is not None:
                value = float(value)
            if value is None or value > 0:
                raise errors.compilation("001007", "22023", f"Invalid data type [{value}] in AT(OFFSET => {value})")
            return self.run.now + timedelta(seconds=float(value))
        if isinstance(value, datetime):
            instant = value if value.tzinfo is not None else value.replace(tzinfo=ZoneInfo(self.run.context.time_zone))
            if instant > self.run.now:
                raise errors.future_data(instant)
            return instant
        raise errors.compilation("001007", "22023", f"invalid type [{value}] for parameter 'TIMESTAMP'")

    # -- the rest -------------------------------------------------------------------------------------------------

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        return self.run.account.staged_files(self.run, location, format_name, pattern, width)

    def table_function(self, name: str, arguments: dict[str, exp.Expr]) -> Relation:
        relation = self.run.account.features.relation_functions.get(name)
        if relation is not None:
            return relation(self, arguments)
        return table_functions.call(self.run, self.state, name, arguments)

    def system_function(self, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        return system_functions.call(self.run, self.state, name, arguments)

    def variable(self, name: str) -> exp.Expr | None:
        variable = self.run.session_variable(name)
        return variable.literal() if variable is not None else None

    def next_value(self, parts: tuple[str, ...]) -> exp.Expr | None:
        if len(parts) > 3:
            return None
        found = self.state.catalog.find(self.full_name(parts), [ObjectKind.SEQUENCE], self.run.session.id)
        if found is None:
            return None
        self.require("USAGE", found)
        return sequences.placeholder(self.run, found)

    def local(self, name: str) -> tuple[exp.Expr, DataType] | None:
        variable = self.run.local(name) if self.outermost else None
        return (variable.literal(), variable.type) if variable is not None else None

    def distinct_values(self, query: BoundQuery) -> Sequence[exp.Expr]:
        values = [row[0] for row in self.run.fetch(constraints.allowed(query)).rows()]
        return [literal(value, query.columns[0].type) for value in dict.fromkeys(values)]

    def routine(self, parts: tuple[str, ...]) -> list[ScalarRoutine]:
        if len(parts) > 3 or (len(parts) < 3 and (self.database is None or (len(parts) == 1 and self.schema is None))):
            return []
        found = self.state.catalog.routines(self.full_name(parts), ObjectKind.FUNCTION, self.run.session.id)
        for item in found:
            self.require("USAGE", item)
            self.run.bodies[item.id] = item
        return [
            replace(
                scalar_routine(str(item.name), item.definition, item.owner, self._code(item.definition)),
                sealed=not enforcement.may_read_definition(self.run, item),
            )
            for item in found
            if isinstance(item.definition, RoutineDefinition)
        ]

    def _code(self, definition: RoutineDefinition) -> UserCode | None:
        if definition.language == "SQL":
            return None
        python_code.require_trust(self.run.account.settings)
        zone = str(self.run.session.parameter("TIMEZONE"))
        code = python_code.user_code_of(definition, zone, self.run.account.settings)
        self.run.account.engine.code.know(code)
        return code


def scalar_routine(
    name: str, definition: RoutineDefinition, owner: str | None = None, code: UserCode | None = None
) -> ScalarRoutine:  # fmt: skip
    """A stored function as the binder takes it."""
    table = definition.returns_table
    return ScalarRoutine(
        name=name,
        arguments=tuple((argument.name, argument.type) for argument in definition.arguments),
        returns=definition.returns,
        returns_table=tuple(RelationColumn(c.name, c.type) for c in table) if table is not None else None,
        body=definition.body,
        database=definition.database,
        schema=definition.schema_,
        defaults={a.name: a.default for a in definition.arguments if a.default is not None},
        strict=definition.strict,
        owner=owner,
        code=code,
    )
