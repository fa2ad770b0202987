"""How a statement says which rights it asks for, and on what. The descriptions of kinds are made of these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from snowmelt.sql.statements import changes, warehouses
from snowmelt.sql.statements.base import Action, Annotation, CloneSource, NameRef, ObjectType
from snowmelt.sql.tokens import SqlText

OWNERSHIP = "OWNERSHIP"
SWITCHES = (warehouses.Suspend, warehouses.Resume)
"""What OPERATE is enough for."""


class Subject(StrEnum):
    """What of a statement a privilege is asked for on."""

    ACCOUNT = "the account"
    DATABASE = "the database"
    SCHEMA = "the schema"
    TARGET = "the object"
    REPLACED = "the object it replaces, if any"
    SOURCE = "its source"
    WAREHOUSE = "its warehouse"


@dataclass(frozen=True, slots=True)
class Ask:
    """Any one of the privileges will do, and so will ownership of the subject."""

    subject: Subject
    privileges: tuple[str, ...]


def ask(subject: Subject, *privileges: str) -> Ask:
    return Ask(subject, privileges)


def ask_owner(*more: Ask) -> tuple[Ask, ...]:
    return (ask(Subject.TARGET, OWNERSHIP), *more)


def ask_creator(kind: str, *more: Ask) -> tuple[Ask, ...]:
    return (ask(Subject.SCHEMA, f"CREATE {kind}"), ask(Subject.REPLACED, OWNERSHIP), *more)


WAREHOUSE_USAGE = ask(Subject.WAREHOUSE, "USAGE")


@dataclass(frozen=True, slots=True)
class Named:
    """Something that a statement mentions."""

    kind: ObjectType
    name: NameRef
    arguments: tuple[SqlText, ...] | None = None
    dropped: bool = False
    """UNDROP means the one that was dropped last."""
    of_column: bool = False
    """The name's last part is a column."""


@dataclass(frozen=True, slots=True)
class RightsRequest:
    rule: str
    target: Named | None = None
    replaced: Named | None = None
    created: Named | None = None
    """What gets a name: its schema or database is asked."""
    source: Named | None = None
    warehouse: NameRef | None = None
    is_run: bool = False
    """Lets the target run. It does so with its owner's rights, so its owner must be allowed to run it."""


def table_named(name: NameRef) -> Named:
    return Named(ObjectType.TABLE, name)


class Creation(Protocol):
    """A CREATE statement."""

    @property
    def name(self) -> NameRef: ...
    @property
    def or_replace(self) -> bool: ...


def created(
    rule: str, kind: ObjectType, statement: Creation, source: Named | None = None, warehouse: NameRef | None = None
) -> RightsRequest:
    named = Named(kind, statement.name)
    replaces = statement.or_replace or bool(getattr(statement, "or_alter", False))
    return RightsRequest(rule, replaced=named if replaces else None, created=named, source=source, warehouse=warehouse)


def source_of(kind: ObjectType, clone: CloneSource | None, name: NameRef | None = None) -> Named | None:
    if clone is not None:
        return Named(kind, clone.name)
    return None if name is None else Named(kind, name)


def altered(
    rule: str, kind: ObjectType, name: NameRef, action: Action, arguments: tuple[SqlText, ...] | None = None
) -> RightsRequest:
    target = Named(kind, name, arguments)
    if isinstance(action, Annotation) and action.rule is not None:
        return RightsRequest(action.rule, target)
    if isinstance(action, changes.RenameTo):
        return RightsRequest(f"ALTER {kind} RENAME", target, created=Named(kind, action.new_name))
    if isinstance(action, changes.SwapWith):
        return RightsRequest("SWAP", target, source=Named(kind, action.other))
    return RightsRequest(rule, target)
