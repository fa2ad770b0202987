"""IN …: which part of the account a SHOW statement looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA, find_relation
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.show import ShowScope, ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class ListingScope:
    """What is looked at: a relation, a schema, a database, or with nothing set the whole account."""

    database: str | None = None
    schema: str | None = None
    relation: CatalogObject | None = None


_ACCOUNT = ListingScope()
_RELATION_WORDS = {"TABLE": "Table", "VIEW": "View", "DYNAMIC TABLE": "Dynamic table"}


def database_scope(run: Run, state: StateReader, statement: ShowStatement) -> ListingScope:
    """The scope of SHOW for objects in a database. Without IN: the session's database, or else the account."""
    scope = statement.scope
    if scope is None:
        return ListingScope(run.session.database)
    if scope.kind in (None, "DATABASE"):
        return _database(run, state, scope.name)
    if scope.kind == "ACCOUNT":
        return _ACCOUNT
    raise _cannot_show(statement)


def schema_scope(run: Run, state: StateReader, statement: ShowStatement) -> ListingScope:
    """The scope of SHOW for objects in a schema. Without IN: the session's schema, database, or else the account."""
    scope = statement.scope
    if scope is None:
        return _current(run)
    match scope.kind:
        case "ACCOUNT":
            return _ACCOUNT
        case "DATABASE":
            return _database(run, state, scope.name)
        case "SCHEMA":
            return _schema(run, state, scope.name)
        case None:
            return _schema_or_database(run, state, run.parts(_named(scope)))
        case "APPLICATION" | "APPLICATION PACKAGE" | "CLASS":
            raise errors.cannot_operate()
    raise _cannot_show(statement)


def relation_scope(run: Run, state: StateReader, statement: ShowStatement) -> ListingScope:
    """The scope of SHOW for what belongs to a table or view: `IN t` is the table t. Without IN as `schema_scope`."""
    scope = statement.scope
    if scope is None or (scope.kind in _RELATION_WORDS and scope.name is None):
        return _current(run)
    if scope.kind is not None and scope.kind not in _RELATION_WORDS:
        return schema_scope(run, state, statement)
    parts = run.parts(_named(scope))
    if len(parts) > 3:
        raise errors.cannot_operate()
    full = run.object_name(parts, f"SHOW {statement.kind}")
    found = find_relation(run, state, full)
    if found is None:
        if len(parts) > 1 and not _has_schema(state, full.parent):
            raise errors.not_found("Schema", str(full.parent))
        word = _RELATION_WORDS.get(scope.kind or "TABLE", "Table")
        raise errors.not_found(word, quote(parts[0]) if len(parts) == 1 else str(full))
    return ListingScope(full.database, full.schema, found)


def _current(run: Run) -> ListingScope:
    database = run.session.database
    return ListingScope(database, run.session.schema if database is not None else None)


def _database(run: Run, state: StateReader, name: NameRef | None) -> ListingScope:
    if name is None:
        return ListingScope(run.session.database)
    parts = run.parts(name)
    if len(parts) != 1 or state.catalog.database(parts[0]) is None:
        raise errors.cannot_operate()
    return ListingScope(parts[0])


def _schema(run: Run, state: StateReader, name: NameRef | None) -> ListingScope:
    if name is None:
        return _current(run)
    parts = run.parts(name)
    if len(parts) > 2 or (len(parts) == 1 and run.session.database is None):
        raise errors.cannot_operate()
    schema = run.schema_name(parts)
    if not _has_schema(state, schema):
        raise errors.cannot_operate()
    return ListingScope(schema.database, schema.name)


def _schema_or_database(run: Run, state: StateReader, parts: tuple[str, ...]) -> ListingScope:
    if len(parts) == 1:
        current = run.session.database
        if current is not None and _has_schema(state, SchemaName(current, parts[0])):
            return ListingScope(current, parts[0])
        if state.catalog.database(parts[0]) is not None:
            return ListingScope(parts[0])
    elif len(parts) == 2 and _has_schema(state, SchemaName(*parts)):
        return ListingScope(*parts)
    raise errors.cannot_operate()


def _has_schema(state: StateReader, name: SchemaName) -> bool:
    if name.name == INFORMATION_SCHEMA:
        return state.catalog.database(name.database) is not None
    return state.catalog.schema(name) is not None


def _named(scope: ShowScope) -> NameRef:
    assert scope.name is not None, "IN without a kind has a name"
    return scope.name


def _cannot_show(statement: ShowStatement) -> errors.SnowmeltError:
    assert statement.scope is not None
    shown = statement.kind.removesuffix("S")
    return errors.compilation(
        "000002",
        "0A000",
        f"Unsupported statement type 'Cannot show objects of type {shown} in {statement.scope.kind}'.",
    )


def existing_schema(state: StateReader, name: ObjectName) -> None:
    """Raises when the object's database or schema is not there: then that is what to name."""
    if state.catalog.database(name.database) is None:
        raise errors.not_found("Database", quote(name.database))
    if not _has_schema(state, name.parent):
        raise errors.not_found("Schema", str(name.parent))
