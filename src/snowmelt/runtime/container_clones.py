"""What a clone of a database or schema brings with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote
from snowmelt.runtime import cloning, retention
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.objects import create_schema
from snowmelt.runtime.references import Rename
from snowmelt.sql.statements.base import CloneSource
from snowmelt.state.model import CatalogObject, Database, ParameterLevel, Schema, TableDefinition
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


class Contents:
    """What a cloned container brings with it. Tables are linked first; names appear all at once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.database: Database | None = None
        self.schema: Schema | None = None
        self._schemas: list[tuple[Schema, SchemaName]] = []
        self._tables: list[cloning.ClonedTable] = []
        self._objects: list[CatalogObject] = []
        self._rename: Rename = lambda name: name

    def of_database(self, clone: CloneSource, target: str) -> None:
        name = self.run.parts(clone.name)[-1]
        at = cloning.instant_of(self.run, clone.point) if clone.point is not None else None
        with self.run.state.read() as state:
            self.database = state.catalog.database(name)
            if self.database is None:
                raise errors.not_found("Database", quote(name))
            _check_existed("database", name, self.database.created_on, at)
            schemas = [schema for schema in state.catalog.schemas(name, include_dropped=True) if _existed(schema, at)]
            self._schemas = [(schema, SchemaName(target, schema.name)) for schema in schemas]
            found = [item for schema in schemas for item in _objects(state, schema, at)]
        self._rename = lambda item: ObjectName(target, item.schema, item.name) if item.database == name else item
        self._take(found, at)

    def of_schema(self, clone: CloneSource, target: SchemaName) -> None:
        name = self.run.schema_name(clone.name)
        at = cloning.instant_of(self.run, clone.point) if clone.point is not None else None
        with self.run.state.read() as state:
            self.schema = state.catalog.schema(name)
            if self.schema is None:
                raise errors.not_found("Schema", str(name))
            _check_existed("schema", name.name, self.schema.created_on, at)
            found = _objects(state, self.schema, at)
        self._rename = lambda item: ObjectName(target.database, target.name, item.name) if item.parent == name else item
        self._take(found, at)

    def _take(self, found: list[CatalogObject], at: datetime | None) -> None:
        tables = [item for item in found if isinstance(item.definition, TableDefinition)]
        self._objects = [item for item in found if not isinstance(item.definition, TableDefinition)]
        self._tables = cloning.clone_tables(self.run, tables, self._rename, at)

    @contextmanager
    def published(self) -> Iterator[None]:
        """Removes the linked tables when the block that names them fails."""
        try:
            yield
        except BaseException:
            cloning.discard(self.run, self._tables)
            raise

    def add(self, state: StateTransaction) -> None:
        for schema, name in self._schemas:
            created = create_schema(
                state,
                name,
                owner=self.run.session.role,
                comment=schema.comment,
                transient=schema.transient,
                managed_access=schema.managed_access,
            )
            retention.copy(state, ParameterLevel.SCHEMA, schema.id, created.id)
            own = state.parameters.get(ParameterLevel.SCHEMA, created.id, retention.KEY)
            retention.set_schema(state, created, None if own is None else int(own))
        for table in self._tables:
            cloning.add_cloned(self.run, state, table)
        cloned = {kind.name: kind.clone for kind in all_kinds().descriptions if kind.clone is not None}
        for item in self._objects:
            if item.kind not in cloned:
                cloning.add_object(self.run, state, item, self._rename)
        made = {table.source.id: (table.table.id, table.written.version) for table in self._tables}
        for item in self._objects:
            if item.kind in cloned:
                cloned[item.kind](self.run, state, item, self._rename, made)


def _objects(state: StateReader, schema: Schema, at: datetime | None) -> list[CatalogObject]:
    found = state.catalog.objects(database=schema.database, schema=schema.name, include_dropped=at is not None)
    described = all_kinds().by_name
    kept = [item for item in found if item.kind not in described or described[item.kind].is_cloned]
    return [item for item in kept if cloning.existed(item, at)]


def _existed(schema: Schema, at: datetime | None) -> bool:
    if at is None:
        return schema.dropped_on is None
    return schema.created_on <= at and (schema.dropped_on is None or schema.dropped_on > at)


def _check_existed(kind: str, name: str, created_on: datetime, at: datetime | None) -> None:
    if at is not None and created_on > at:
        raise errors.SnowmeltError(
            "000707", "02000",
            f"Time travel data is not available for {kind} {quote(name)}. The requested time is either beyond the "
            "allowed time travel period or before the object creation time.",
        )  # fmt: skip
