"""Objects that a run creates: whether one is there, and how it goes away."""

from __future__ import annotations

from collections.abc import Mapping

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, SchemaName, literal, quote, split_name
from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.claims import Execute
from snowmelt.playbooks.expecting import column
from snowmelt.playbooks.inputs import InputValue, PlaybookHome
from snowmelt.playbooks.model import Created
from snowmelt.playbooks.templates import filled

_RELATIONS = ("TABLE", "DYNAMIC TABLE", "VIEW")
_IN_ACCOUNT = ("DATABASE", "WAREHOUSE")
_MISSING = ("002003", "002043")
IF_MISSING = " if missing"


def full_name(created: Created, values: Mapping[str, InputValue], home: PlaybookHome) -> str:
    """The name of what a step creates, in full."""
    text = filled(created.name.removesuffix(IF_MISSING), values)
    parts = split_name(text.strip())
    size = 1 if created.kind in _IN_ACCOUNT else 2 if created.kind == "SCHEMA" else 3
    if parts is None or len(parts) > size:
        raise playbook_errors.playbook(f"'{text}' is not the name of a {created.kind.lower()}.")
    if size == 1:
        return quote(parts[0])
    if size == 2:
        return str(SchemaName(*(home.database, *parts)[-2:]))
    return str(ObjectName(*(home.database, home.schema, *parts)[-3:]))


def shown(execute: Execute, kind: str, name: str) -> dict[str, str | None] | None:
    """What SHOW says of one object; None when no object has that kind and name."""
    parts = split_name(name)
    assert parts is not None
    pattern = literal(parts[-1].replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%"))
    where = "" if len(parts) == 1 else f" IN {_parent(parts)}"
    try:
        result = execute(f"SHOW {kind}S LIKE {pattern}{where}")
    except SnowmeltError as error:
        # Nothing is in a schema that does not exist.
        if error.code in _MISSING:
            return None
        raise
    columns = {item.name: column(result, item.name) for item in result.columns}
    # LIKE is blind to case, names are not.
    return next(
        ({key: values[index] for key, values in columns.items()} for index, found in enumerate(columns["name"])
         if found == parts[-1]),
        None,
    )  # fmt: skip


def exists(execute: Execute, kind: str, name: str) -> bool:
    """Whether something has the name that would be in the way of a new object of the kind."""
    kinds = _RELATIONS if kind in _RELATIONS else (kind,)
    return any(shown(execute, item, name) is not None for item in kinds)


def _parent(parts: tuple[str, ...]) -> str:
    return f"DATABASE {quote(parts[0])}" if len(parts) == 2 else f"SCHEMA {quote(parts[0])}.{quote(parts[1])}"


def dropping(kind: str, name: str) -> str:
    return f"DROP {kind} IF EXISTS {name}"
