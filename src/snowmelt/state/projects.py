"""Which objects a project of definitions looks after."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, delete, select

from snowmelt.state.record import Record
from snowmelt.state.repository import Repository
from snowmelt.state.tables import PROJECT_OBJECTS

_P = PROJECT_OBJECTS.c
_ALL = select(_P.record).where(_P.project == bindparam("of_project")).order_by(_P.kind, _P.name)
_ONE = select(_P.record).where(
    _P.project == bindparam("of_project"), _P.kind == bindparam("of_kind"), _P.name == bindparam("of_name")
)


class ProjectObject(Record):
    """An object that a project created, or found and changed."""

    project: str
    kind: str
    """TABLE, DYNAMIC TABLE, VIEW, …"""
    name: str
    """The full name, with the types of the arguments for a routine."""
    owned: bool
    """Whether the project created it. Only then may the project drop it."""
    object_id: str | None = None
    """None until it was seen for the first time."""
    pending: bool = False
    """A statement is under way that may give the name to a new object."""
    claimed_at: datetime
    """What took the name later, while pending, is the project's."""
    fingerprint: str = ""
    """A hash of the definition that was applied last."""


class Projects(Repository):
    def all(self, project: str) -> list[ProjectObject]:
        rows = self._execute(_ALL, {"of_project": project}).scalars()
        return [ProjectObject.model_validate_json(record) for record in rows]

    def get(self, project: str, kind: str, name: str) -> ProjectObject | None:
        record = self._execute(_ONE, {"of_project": project, "of_kind": kind, "of_name": name}).scalar()
        return None if record is None else ProjectObject.model_validate_json(record)

    def put(self, item: ProjectObject) -> None:
        self._writing()
        row = {"project": item.project, "kind": item.kind, "name": item.name, "record": item.model_dump_json()}
        self._upsert(PROJECT_OBJECTS, [row])

    def remove(self, project: str, kind: str, name: str) -> None:
        self._writing()
        self._execute(
            delete(PROJECT_OBJECTS).where(_P.project == project, _P.kind == kind, _P.name == name),
        )
