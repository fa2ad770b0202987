"""The catalog: databases, schemas and the objects in them."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, or_, select, update

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.core.text import check_name
from snowmelt.state import new_rights
from snowmelt.state.containers import Containers
from snowmelt.state.model import SELECTABLE, CatalogObject, ObjectKind, RoutineDefinition
from snowmelt.state.prepared import Prepared, Record
from snowmelt.state.record import Definition
from snowmelt.state.repository import AnyRow, chunks
from snowmelt.state.sight import Owned
from snowmelt.state.tables import DATABASES, OBJECTS, SCHEMAS

_OBJECTS = select(
    DATABASES.c.name.label("database_name"),
    SCHEMAS.c.name.label("schema_name"),
    OBJECTS.c.name,
    OBJECTS.c.id,
    OBJECTS.c.owner,
    OBJECTS.c.comment,
    OBJECTS.c.session_id,
    OBJECTS.c.created_on,
    OBJECTS.c.altered_on,
    OBJECTS.c.dropped_on,
    OBJECTS.c.definition,
    DATABASES.c.id.label("database_id"),
    DATABASES.c.owner.label("database_owner"),
    SCHEMAS.c.id.label("schema_id"),
    SCHEMAS.c.owner.label("schema_owner"),
).select_from(
    DATABASES.join(SCHEMAS, SCHEMAS.c.database_id == DATABASES.c.id).join(OBJECTS, OBJECTS.c.schema_id == SCHEMAS.c.id)
)
_BY_ID = Prepared(_OBJECTS.where(OBJECTS.c.id == bindparam("id")))
_BY_IDS = Prepared(_OBJECTS.where(OBJECTS.c.id.in_(bindparam("ids", expanding=True))))
_NAMED = _OBJECTS.where(
    DATABASES.c.name == bindparam("database"),
    DATABASES.c.dropped_on.is_(None),
    SCHEMAS.c.name == bindparam("schema"),
    SCHEMAS.c.dropped_on.is_(None),
    OBJECTS.c.name == bindparam("name"),
    OBJECTS.c.kind.in_(bindparam("kinds", expanding=True)),
    or_(OBJECTS.c.session_id.is_(None), OBJECTS.c.session_id == bindparam("session")),
)
# A temporary object comes first: it hides a permanent one.
_IN_ORDER = _NAMED.where(OBJECTS.c.dropped_on.is_(None)).order_by(OBJECTS.c.session_id.is_(None), OBJECTS.c.slot)
_LIVE = Prepared(_IN_ORDER)
_FIND = Prepared(_IN_ORDER.limit(1))
_TEMPORARY = Prepared(select(OBJECTS.c.id).where(OBJECTS.c.session_id == bindparam("session")).limit(1))
_DROPPED = (
    _NAMED.where(OBJECTS.c.dropped_on.is_not(None))
    .order_by(OBJECTS.c.session_id.is_(None), OBJECTS.c.dropped_on.desc(), OBJECTS.c.created_on.desc())
    .limit(1)
)


class Catalog(Containers):
    """What exists, by name and by id. A name finds live objects only; an id finds dropped ones too."""

    def find(
        self, name: ObjectName, kinds: Collection[ObjectKind], session_id: str | None = None
    ) -> CatalogObject | None:
        """The live object of one of these kinds; a temporary one of that session hides a permanent one.

        Of several routines that share the name, some one: use `routines`.
        """
        row = self._row(_FIND, _naming(name, kinds, session_id))
        return None if row is None or not self._sees_object(row) else _object(row)

    def routines(self, name: ObjectName, kind: ObjectKind, session_id: str | None = None) -> list[CatalogObject]:
        """All live functions or procedures of that name, one per list of argument types."""
        found = self._rows(_LIVE, _naming(name, [kind], session_id))
        return [_object(row) for row in found if self._sees_object(row)]

    def by_id(self, id: str) -> CatalogObject | None:
        """The object, dropped or not, under the name it has or had last."""
        row = self._row(_BY_ID, {"id": id})
        return None if row is None else _object(row)

    def by_ids(self, ids: Collection[str]) -> dict[str, CatalogObject]:
        """The objects with these ids; ids that never existed are left out."""
        rows = [row for part in chunks(list(ids)) for row in self._rows(_BY_IDS, {"ids": part})]
        return {found.id: found for found in map(_object, rows)}

    def objects(
        self,
        kinds: Collection[ObjectKind] | None = None,
        database: str | None = None,
        schema: str | None = None,
        session_id: str | None = None,
        include_dropped: bool = False,
        all_sessions: bool = False,
    ) -> list[CatalogObject]:
        """Objects by database, schema, name: permanent ones, and temporary ones of that session (or all)."""
        query = _OBJECTS.order_by(DATABASES.c.name, SCHEMAS.c.name, OBJECTS.c.name, OBJECTS.c.created_on)
        if kinds is not None:
            query = query.where(OBJECTS.c.kind.in_([kind.value for kind in kinds]))
        if database is not None:
            query = query.where(DATABASES.c.name == database)
        if schema is not None:
            query = query.where(SCHEMAS.c.name == schema)
        if not all_sessions:
            query = query.where(or_(OBJECTS.c.session_id.is_(None), OBJECTS.c.session_id == session_id))
        if not include_dropped:
            query = query.where(
                DATABASES.c.dropped_on.is_(None),
                SCHEMAS.c.dropped_on.is_(None),
                OBJECTS.c.dropped_on.is_(None),
            )
        return [_object(row) for row in self._execute(query) if self._sees_object(row)]

    def create(self, object: CatalogObject) -> None:
        """Raises `already_exists` when the name is taken, and `not_found` when there is no such schema."""
        check_name(object.name.name)
        scope = self._changing()
        schema_id = self._live_schema(object.name.parent).id
        kind = new_rights.granted_as(object.definition)
        future = new_rights.future(scope, kind, schema_id, new_rights.database_of(scope, schema_id))
        values = {
            "id": object.id,
            "schema_id": schema_id,
            "kind": object.kind.value,
            "name": object.name.name,
            "slot": _slot(object.definition, object.name.name, object.session_id),
            "owner": new_rights.owner(future, object.owner),
            "comment": object.comment,
            "session_id": object.session_id,
            "created_on": object.created_on,
            "altered_on": object.altered_on,
            "dropped_on": object.dropped_on,
            "definition": object.definition,
        }
        with self._unless_taken(object.name):
            self._execute(insert(OBJECTS), values)
        copied = new_rights.find_replaced(scope, schema_id, str(values["slot"])) if scope.keeps_grants else None
        new_rights.give(scope, object.id, kind, future, copied)

    def update(self, object: CatalogObject) -> None:
        """Store its owner, comment, instants and definition.

        The name stays (`rename` changes it), so do the session and whether it is dropped. Raises
        `already_exists` when a routine's new argument types are those of another of its name.
        """
        self._changing()
        change = (
            update(OBJECTS)
            .where(OBJECTS.c.id == object.id, OBJECTS.c.name == object.name.name)
            .values(
                kind=object.kind.value,
                slot=_slot(object.definition, object.name.name, object.session_id),
                owner=object.owner,
                comment=object.comment,
                created_on=object.created_on,
                altered_on=object.altered_on,
                definition=object.definition,
            )
        )
        with self._unless_taken(object.name):
            if self._execute(change).rowcount != 1:
                raise errors.cannot_operate()

    def drop(self, id: str, at: datetime) -> None:
        """Hide the object from names, but keep it for `undrop`."""
        self._changing()
        change = update(OBJECTS).where(OBJECTS.c.id == id, OBJECTS.c.dropped_on.is_(None))
        if self._execute(change.values(dropped_on=at)).rowcount != 1:
            raise errors.cannot_operate()

    def dropped(self, name: ObjectName, kind: ObjectKind, session_id: str | None = None) -> CatalogObject | None:
        """What `undrop` would bring back."""
        row = self._execute(_DROPPED, _naming(name, [kind], session_id)).first()
        return None if row is None or not self._sees_object(row) else _object(row)

    def undrop(self, name: ObjectName, kind: ObjectKind, session_id: str | None = None) -> CatalogObject | None:
        """Bring back the latest dropped object of that name and kind; None when there is none.

        Raises `already_exists` when the name is taken by now.
        """
        self._changing()
        row = self._execute(_DROPPED, _naming(name, [kind], session_id)).first()
        if row is None:
            return None
        with self._unless_taken(name):
            self._execute(update(OBJECTS).where(OBJECTS.c.id == row.id).values(dropped_on=None))
        return self.by_id(row.id)

    def rename(self, id: str, name: ObjectName) -> None:
        """Give the object another name, maybe in another schema. Raises `already_exists` when it is taken."""
        check_name(name.name)
        scope = self._changing()
        object = self._live(id)
        schema_id = self._live_schema(name.parent).id
        with self._unless_taken(name):
            self._put(object, schema_id, name.name, scope.now)

    def swap(self, id_a: str, id_b: str) -> None:
        """Exchange the names of two objects in one step."""
        scope = self._changing()
        a, b = self._live(id_a), self._live(id_b)
        schema_a, schema_b = self._live_schema(a.name.parent).id, self._live_schema(b.name.parent).id
        # Uniqueness holds after every statement, so the first object steps aside, to a slot no name can have.
        self._execute(update(OBJECTS).where(OBJECTS.c.id == id_a).values(slot=f"swap {id_a}"))
        with self._unless_taken(a.name):
            self._put(b, schema_a, a.name.name, scope.now)
        with self._unless_taken(b.name):
            self._put(a, schema_b, b.name.name, scope.now)

    def has_temporary(self, session_id: str) -> bool:
        """Whether the session has temporary objects, dropped ones included."""
        return self._row(_TEMPORARY, {"session": session_id}) is not None

    def drop_session(self, session_id: str) -> list[CatalogObject]:
        """Remove the session's temporary objects for good, dropped ones too, and return them."""
        self._writing()
        rows = self._execute(_OBJECTS.where(OBJECTS.c.session_id == session_id)).all()
        if rows:
            self._changing()
            self._execute(delete(OBJECTS).where(OBJECTS.c.session_id == session_id))
        return [_object(row) for row in rows]

    def purge(self, id: str) -> None:
        """Forget the object for good. Its versions, counters and loads are deleted where they are kept."""
        self._changing()
        self._execute(delete(OBJECTS).where(OBJECTS.c.id == id))

    def _sees_object(self, row: Record | AnyRow) -> bool:
        if self._sight is None:
            return True
        own, containers = row[3:5], row[11:15]
        return self._sees(Owned(*containers[:2]), Owned(*containers[2:]), Owned(*own))

    def _live(self, id: str) -> CatalogObject:
        object = self.by_id(id)
        if object is None or object.dropped_on is not None:
            raise errors.cannot_operate()
        return object

    def _put(self, object: CatalogObject, schema_id: str, name: str, at: datetime) -> None:
        slot = _slot(object.definition, name, object.session_id)
        change = update(OBJECTS).where(OBJECTS.c.id == object.id)
        self._execute(change.values(schema_id=schema_id, name=name, slot=slot, altered_on=at))


def _naming(name: ObjectName, kinds: Collection[ObjectKind], session_id: str | None) -> dict[str, object]:
    return {
        "database": name.database,
        "schema": name.schema,
        "name": name.name,
        "kinds": [kind.value for kind in kinds],
        "session": session_id,
    }


def _slot(definition: Definition, name: str, session_id: str | None) -> str:
    """The slot an object takes in its schema: two live objects never share one.

    Tables, views and streams share a namespace; every session has one of its own for temporary objects; a routine's
    slot includes its argument types, without their precision or length, as overloads are told apart.
    """
    kind = ObjectKind(definition.kind)
    namespace = "RELATION" if kind in SELECTABLE else kind.value
    arguments = None
    if isinstance(definition, RoutineDefinition):
        arguments = [argument.type.kind.value for argument in definition.arguments]
    return json.dumps([namespace, session_id, name, arguments], ensure_ascii=False)


def _object(row: Record | AnyRow) -> CatalogObject:
    database, schema, name, id, owner, comment, session_id, created_on, altered_on, dropped_on, definition = row[:11]
    return CatalogObject.model_construct(
        id=id,
        name=ObjectName(database, schema, name),
        owner=owner,
        comment=comment,
        session_id=session_id,
        created_on=created_on,
        altered_on=altered_on,
        dropped_on=dropped_on,
        definition=definition,
    )
