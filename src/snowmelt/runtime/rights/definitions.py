"""What a role is shown of an object's definition: the one way in for SHOW, DESCRIBE, INFORMATION_SCHEMA and GET_DDL.

Bodies are shown to their owner as they were written, as Snowflake does. Everybody else who may know of the object gets
them without the secrets that they hold. Addresses that hold a key are no body: their secret is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.rights.privileges import OWNERSHIP
from snowmelt.runtime.rights.redaction import shown_text
from snowmelt.runtime.statement import ActingStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.sight import Owned


def as_shown(run: ActingStatement, item: CatalogObject) -> CatalogObject:
    """The object with every text of it as the session's roles may read it."""
    own = all_kinds().by_name.get(item.kind)
    outside = own is not None and own.leads_out
    if not outside and run.authority.holds(OWNERSHIP, Owned(item.id, item.owner)):
        return item
    return item.model_copy(
        update={"definition": _without_secrets(item.definition), "comment": _without_secrets(item.comment)}
    )


def rows_without_secrets(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of a history, which holds no secret for anybody."""
    return [{name: _without_secrets(value) for name, value in row.items()} for row in rows]


def _without_secrets(value: Any) -> Any:
    """The value with each text in it redacted. Whatever part of a definition a text is, also of kinds to come."""
    if type(value) is str:
        return shown_text(value)
    if isinstance(value, BaseModel):
        parts = {
            name: (getattr(value, name), _without_secrets(getattr(value, name))) for name in type(value).model_fields
        }
        changed = {name: after for name, (before, after) in parts.items() if after != before}
        return value.model_copy(update=changed) if changed else value
    if type(value) in (tuple, list):
        return type(value)(_without_secrets(part) for part in value)
    if isinstance(value, Mapping):
        return {key: _without_secrets(part) for key, part in value.items()}
    return value
