"""Databases and schemas."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select, update

from snowmelt.core import errors
from snowmelt.core.names import SchemaName, quote
from snowmelt.core.text import check_name
from snowmelt.state import new_rights
from snowmelt.state.model import Database, Schema
from snowmelt.state.prepared import Prepared
from snowmelt.state.repository import AnyRow, Repository, WriteScope
from snowmelt.state.sight import Owned
from snowmelt.state.tables import DATABASES, LEDGER, OBJECTS, SCHEMAS

_DATABASE = select(DATABASES).where(DATABASES.c.name == bindparam("name"), DATABASES.c.dropped_on.is_(None))
_DROPPED_DATABASE = (
    select(DATABASES)
    .where(DATABASES.c.name == bindparam("name"), DATABASES.c.dropped_on.is_not(None))
    .order_by(DATABASES.c.dropped_on.desc())
    .limit(1)
)

_SCHEMA_COLUMNS = [
    DATABASES.c.name.label("database"),
    *(column for column in SCHEMAS.c if column.name not in {"database_id", "dropped_with"}),
    DATABASES.c.id.label("container_id"),
    DATABASES.c.owner.label("container_owner"),
]
_OF_CONTAINER = frozenset({"container_id", "container_owner"})
_SCHEMAS = select(*_SCHEMA_COLUMNS).select_from(SCHEMAS.join(DATABASES, SCHEMAS.c.database_id == DATABASES.c.id))
_NAMED_SCHEMA = _SCHEMAS.where(
    DATABASES.c.name == bindparam("database"),
    DATABASES.c.dropped_on.is_(None),
    SCHEMAS.c.name == bindparam("name"),
)
_SCHEMA = _NAMED_SCHEMA.where(SCHEMAS.c.dropped_on.is_(None))
_DROPPED_SCHEMA = _NAMED_SCHEMA.where(SCHEMAS.c.dropped_on.is_not(None)).order_by(SCHEMAS.c.dropped_on.desc()).limit(1)
_GENERATION = Prepared(select(LEDGER.c.generation))


class Containers(Repository):
    """The part of the catalog that holds databases and schemas.

    Through a reader with a sight, a name finds only what that sight sees, and lists hold nothing else. An id finds
    everything: whoever has one was given it by something that may know.

    Dropping one keeps its row, and the rows of what was dropped with it, so that it can be undropped.
    """

    def generation(self) -> int:
        """A number that changes with every change of the catalog.

        Two readers that get the same number see the same catalog, so that a translation made for one is valid
        for the other. Inside a transaction, a number for uncommitted changes is never given to anything else.
        """
        if isinstance(self._scope, WriteScope):
            return self._scope.generation
        return int(self._value(_GENERATION))

    # Databases

    def database(self, name: str) -> Database | None:
        row = self._execute(_DATABASE, {"name": name}).first()
        return None if row is None or not self._sees(Owned(row.id, row.owner)) else _database(row)

    def databases(self, include_dropped: bool = False) -> list[Database]:
        """All databases by name; of those with one name, the oldest first."""
        query = select(DATABASES).order_by(DATABASES.c.name, DATABASES.c.created_on)
        if not include_dropped:
            query = query.where(DATABASES.c.dropped_on.is_(None))
        return [_database(row) for row in self._execute(query) if self._sees(Owned(row.id, row.owner))]

    def create_database(self, database: Database) -> None:
        """Raises `already_exists` when a live database has the name."""
        check_name(database.name)
        self._changing()
        with self._unless_taken(quote(database.name)):
            self._execute(insert(DATABASES), database.model_dump())

    def update_database(self, database: Database) -> None:
        """Store everything about it but its name, which `rename_database` changes, and `dropped_on`."""
        self._changing()
        values = database.model_dump(exclude={"id", "name", "dropped_on"})
        done = self._execute(update(DATABASES).where(DATABASES.c.id == database.id).values(values))
        if done.rowcount != 1:
            raise errors.not_found("Database", quote(database.name))

    def drop_database(self, name: str, at: datetime) -> None:
        """Drop it with its schemas and their objects: all get the same `dropped_on`."""
        self._changing()
        database = self._live_database(name)
        inside = select(SCHEMAS.c.id).where(SCHEMAS.c.database_id == database.id)
        dropped = {"dropped_on": at, "dropped_with": database.id}
        self._execute(
            update(OBJECTS).where(OBJECTS.c.schema_id.in_(inside), OBJECTS.c.dropped_on.is_(None)).values(dropped)
        )
        self._execute(
            update(SCHEMAS).where(SCHEMAS.c.database_id == database.id, SCHEMAS.c.dropped_on.is_(None)).values(dropped)
        )
        self._execute(update(DATABASES).where(DATABASES.c.id == database.id).values(dropped_on=at))

    def dropped_database(self, name: str) -> Database | None:
        """What `undrop_database` would bring back."""
        row = self._execute(_DROPPED_DATABASE, {"name": name}).first()
        return None if row is None or not self._sees(Owned(row.id, row.owner)) else _database(row)

    def undrop_database(self, name: str) -> Database | None:
        """Bring back the most recently dropped one, and what was dropped with it; None when there is none.

        Raises `already_exists` when a live database has the name by now.
        """
        self._changing()
        row = self._execute(_DROPPED_DATABASE, {"name": name}).first()
        if row is None:
            return None
        live = {"dropped_on": None, "dropped_with": None}
        with self._unless_taken(quote(name)):
            self._execute(update(DATABASES).where(DATABASES.c.id == row.id).values(dropped_on=None))
        inside = select(SCHEMAS.c.id).where(SCHEMAS.c.database_id == row.id)
        self._execute(
            update(OBJECTS).where(OBJECTS.c.schema_id.in_(inside), OBJECTS.c.dropped_with == row.id).values(live)
        )
        self._execute(
            update(SCHEMAS).where(SCHEMAS.c.database_id == row.id, SCHEMAS.c.dropped_with == row.id).values(live)
        )
        return self.database(name)

    def rename_database(self, name: str, new_name: str) -> None:
        """Raises `already_exists` when a live database has the new name."""
        check_name(new_name)
        scope = self._changing()
        database = self._live_database(name)
        with self._unless_taken(quote(new_name)):
            self._execute(
                update(DATABASES).where(DATABASES.c.id == database.id).values(name=new_name, altered_on=scope.now)
            )

    def swap_databases(self, name: str, other: str) -> None:
        """Exchange the names of two databases in one step."""
        scope = self._changing()
        a, b = self._live_database(name), self._live_database(other)
        # Uniqueness holds after every statement: the first steps aside, to a name that its id makes unique.
        for id, called in ((a.id, f"swap {a.id}"), (b.id, a.name), (a.id, b.name)):
            change = update(DATABASES).where(DATABASES.c.id == id)
            self._execute(change.values(name=called, altered_on=scope.now))

    def purge_database(self, id: str) -> None:
        """Forget a dropped database for good. Its schemas and their objects must be purged already."""
        self._changing()
        self._execute(delete(DATABASES).where(DATABASES.c.id == id, DATABASES.c.dropped_on.is_not(None)))

    # Schemas

    def schema(self, name: SchemaName) -> Schema | None:
        row = self._execute(_SCHEMA, {"database": name.database, "name": name.name}).first()
        return None if row is None or not self._sees_schema(row) else _schema(row)

    def schemas(self, database: str | None = None, include_dropped: bool = False) -> list[Schema]:
        """All schemas, or those of one database, by database and name."""
        query = _SCHEMAS.order_by(DATABASES.c.name, SCHEMAS.c.name, SCHEMAS.c.created_on)
        if database is not None:
            query = query.where(DATABASES.c.name == database)
        if not include_dropped:
            query = query.where(DATABASES.c.dropped_on.is_(None), SCHEMAS.c.dropped_on.is_(None))
        return [_schema(row) for row in self._execute(query) if self._sees_schema(row)]

    def create_schema(self, schema: Schema) -> None:
        """Raises `already_exists` when the database has a live schema of that name."""
        check_name(schema.name)
        scope = self._changing()
        values = schema.model_dump(exclude={"database"})
        values["database_id"] = self._live_database(schema.database).id
        future = new_rights.future(scope, "SCHEMA", None, values["database_id"])
        values["owner"] = new_rights.owner(future, schema.owner)
        with self._unless_taken(SchemaName(schema.database, schema.name)):
            self._execute(insert(SCHEMAS), values)
        new_rights.give(scope, schema.id, "SCHEMA", future, None)

    def update_schema(self, schema: Schema) -> None:
        """Store everything about it but its names, which `rename_schema` changes, and `dropped_on`."""
        self._changing()
        values = schema.model_dump(exclude={"id", "database", "name", "dropped_on"})
        done = self._execute(update(SCHEMAS).where(SCHEMAS.c.id == schema.id).values(values))
        if done.rowcount != 1:
            raise errors.not_found("Schema", str(SchemaName(schema.database, schema.name)))

    def drop_schema(self, name: SchemaName, at: datetime) -> None:
        """Drop it with its objects: all get the same `dropped_on`."""
        self._changing()
        schema = self._live_schema(name)
        self._execute(
            update(OBJECTS)
            .where(OBJECTS.c.schema_id == schema.id, OBJECTS.c.dropped_on.is_(None))
            .values(dropped_on=at, dropped_with=schema.id)
        )
        self._execute(update(SCHEMAS).where(SCHEMAS.c.id == schema.id).values(dropped_on=at))

    def dropped_schema(self, name: SchemaName) -> Schema | None:
        """What `undrop_schema` would bring back."""
        row = self._execute(_DROPPED_SCHEMA, {"database": name.database, "name": name.name}).first()
        return None if row is None or not self._sees_schema(row) else _schema(row)

    def undrop_schema(self, name: SchemaName) -> Schema | None:
        """Bring back the most recently dropped one, and what was dropped with it; None when there is none.

        Raises `already_exists` when the database has a live schema of that name by now.
        """
        self._changing()
        row = self._execute(_DROPPED_SCHEMA, {"database": name.database, "name": name.name}).first()
        if row is None:
            return None
        with self._unless_taken(name):
            self._execute(update(SCHEMAS).where(SCHEMAS.c.id == row.id).values(dropped_on=None))
        self._execute(
            update(OBJECTS)
            .where(OBJECTS.c.schema_id == row.id, OBJECTS.c.dropped_with == row.id)
            .values(dropped_on=None, dropped_with=None)
        )
        return self.schema(name)

    def rename_schema(self, name: SchemaName, new_name: SchemaName) -> None:
        """Rename it, or move it to another database. Raises `already_exists` when the new name is taken."""
        check_name(new_name.name)
        scope = self._changing()
        schema = self._live_schema(name)
        database = self._live_database(new_name.database)
        with self._unless_taken(new_name):
            self._execute(
                update(SCHEMAS)
                .where(SCHEMAS.c.id == schema.id)
                .values(database_id=database.id, name=new_name.name, altered_on=scope.now)
            )

    def swap_schemas(self, name: SchemaName, other: SchemaName) -> None:
        """Exchange the names of two schemas, perhaps of different databases, in one step."""
        scope = self._changing()
        a, b = self._live_schema(name), self._live_schema(other)
        of_a, of_b = self._live_database(a.database).id, self._live_database(b.database).id
        aside = (a.id, of_a, f"swap {a.id}")
        for id, database_id, called in (aside, (b.id, of_a, a.name), (a.id, of_b, b.name)):
            change = update(SCHEMAS).where(SCHEMAS.c.id == id)
            self._execute(change.values(database_id=database_id, name=called, altered_on=scope.now))

    def schemas_of(self, database_id: str) -> list[Schema]:
        """All schemas of a database, dropped or not, found by its id: another may have its name by now."""
        rows = self._execute(_SCHEMAS.where(SCHEMAS.c.database_id == database_id).order_by(SCHEMAS.c.name))
        return [_schema(row) for row in rows]

    def has_objects(self, schema_id: str) -> bool:
        """Whether anything, dropped or not, is still kept in the schema."""
        query = select(OBJECTS.c.id).where(OBJECTS.c.schema_id == schema_id).limit(1)
        return self._execute(query).first() is not None

    def purge_schema(self, id: str) -> None:
        """Forget a dropped schema for good. Its objects must be purged already."""
        self._changing()
        self._execute(delete(SCHEMAS).where(SCHEMAS.c.id == id, SCHEMAS.c.dropped_on.is_not(None)))

    def _changing(self) -> WriteScope:
        """The scope of a write to the catalog, whose generation it moves on."""
        scope = self._writing()
        scope.bump_generation()
        return scope

    def _sees_schema(self, row: AnyRow) -> bool:
        return self._sees(Owned(row.container_id, row.container_owner), Owned(row.id, row.owner))

    def _live_database(self, name: str) -> Database:
        database = self.database(name)
        if database is None:
            raise errors.not_found("Database", quote(name))
        return database

    def _live_schema(self, name: SchemaName) -> Schema:
        schema = self.schema(name)
        if schema is None:
            raise errors.not_found("Schema", str(name))
        return schema


def _database(row: AnyRow) -> Database:
    return Database.model_construct(**row._mapping)


def _schema(row: AnyRow) -> Schema:
    return Schema.model_construct(**{key: value for key, value in row._mapping.items() if key not in _OF_CONTAINER})
