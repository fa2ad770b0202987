"""SYSTEM$PROJECT_…: what `snowmelt apply` notes about the objects of a project.

A note is written before the statement that creates or changes an object (BEGIN) and completed after it (END). After a
run that was killed in between, what took the name since the note was written becomes the project's with END, which the
caller asks for only when that object is what the project says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.runtime.metadata.ddl_scripts import find_routine
from snowmelt.runtime.schema_objects import is_dynamic, kept_as
from snowmelt.sql.statements.base import ObjectType
from snowmelt.state.model import CatalogObject, ObjectKind
from snowmelt.state.projects import ProjectObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_NOT_FOUND = "002003"


def begin(run: Run, _: StateReader, arguments: Sequence[Any]) -> bool:
    """Notes that a statement follows which creates or changes the object; whether the project owns it then."""
    project, kind, name = map(str, arguments)
    with run.state.begin() as state:
        live = _live(run, state, kind, name)
        row = state.projects.get(project, kind, name)
        known = row is not None and live is not None and live.id == row.object_id
        owned = live is None or (known and row is not None and row.owned)
        state.projects.put(
            ProjectObject(
                project=project, kind=kind, name=name, owned=owned, object_id=live.id if live is not None else None,
                pending=True, claimed_at=state.now, fingerprint=row.fingerprint if known and row is not None else "",
            )
        )  # fmt: skip
    return owned


def end(run: Run, _: StateReader, arguments: Sequence[Any]) -> bool:
    """Notes which definition the object has now; whether the project owns it."""
    project, kind, name, fingerprint = map(str, arguments)
    with run.state.begin() as state:
        live = _live(run, state, kind, name)
        row = state.projects.get(project, kind, name)
        if row is None or live is None or not _same(row, live):
            return False
        state.projects.put(row.model_copy(update={"object_id": live.id, "pending": False, "fingerprint": fingerprint}))
    return row.owned


def forget(run: Run, _: StateReader, arguments: Sequence[Any]) -> bool:
    """The project no longer looks after the object."""
    project, kind, name = map(str, arguments)
    with run.state.begin() as state:
        known = state.projects.get(project, kind, name) is not None
        state.projects.remove(project, kind, name)
    return known


def objects(run: Run, state: StateReader, arguments: Sequence[Any]) -> str:
    """What the project looks after and is still there, as JSON."""
    rows = []
    for row in state.projects.all(str(arguments[0])):
        live = _live(run, state, row.kind, row.name)
        if live is not None and _same(row, live):
            rows.append({
                "kind": row.kind, "name": row.name, "owned": row.owned and live.id == row.object_id,
                "pending": row.pending, "fingerprint": "" if row.pending else row.fingerprint,
            })  # fmt: skip
    return json.dumps(rows)


def _same(row: ProjectObject, live: CatalogObject) -> bool:
    """Whether the object that has the name is the one that was noted, or what the noted statement made of it."""
    return live.id == row.object_id or (row.pending and live.created_on >= row.claimed_at)


def _live(run: Run, state: StateReader, kind: str, name: str) -> CatalogObject | None:
    try:
        wanted = ObjectType(kind)
        stored = kept_as(wanted)
    except ValueError:
        raise errors.invalid_value(kind, "object_type") from None
    if stored in (ObjectKind.FUNCTION, ObjectKind.PROCEDURE):
        try:
            return find_routine(run, state, stored, name)
        except errors.SnowmeltError as error:
            if error.code != _NOT_FOUND:
                raise
            return None
    parts = split_name(name)
    if parts is None or len(parts) != 3:
        raise errors.invalid_value(name, "object_name")
    found = state.catalog.find(run.object_name(parts), [stored])
    if found is not None and is_dynamic(found) != (wanted is ObjectType.DYNAMIC_TABLE):
        return None
    return found
