"""What all kinds of objects in a schema share: being found, created and altered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.types import parse_type
from snowmelt.runtime.kinds import all_kinds, annotate_created
from snowmelt.runtime.results import Result, kept, status
from snowmelt.runtime.statement import ActingStatement, NamingStatement, StatementSession
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.kinds import has_arguments
from snowmelt.sql.tokens import SqlText
from snowmelt.state import definitions
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.ids import new_id
from snowmelt.state.model import RELATIONS, CatalogObject, Column, ObjectKind, RoutineDefinition, TableDefinition
from snowmelt.state.record import Definition
from snowmelt.state.store import StateReader, StateTransaction


class Replacing(Protocol):
    """What is told of an object that takes the place of another one."""

    @property
    def replaced(self) -> Callable[[StateTransaction, CatalogObject, Sequence[Column], str], None]: ...


class HasLifecycle(Protocol):
    @property
    def lifecycle(self) -> Replacing: ...


class FindingStatement(NamingStatement, Protocol):
    """A statement that looks for objects."""

    @property
    def session(self) -> StatementSession: ...


class ChangingStatement(FindingStatement, ActingStatement, Protocol):
    """A statement that creates and alters objects."""

    @property
    def account(self) -> HasLifecycle: ...


_NOUNS = {
    ObjectType.DATABASE: "Database",
    ObjectType.SCHEMA: "Schema",
    ObjectType.TABLE: "Table",
    ObjectType.VIEW: "View",
    ObjectType.SEQUENCE: "Sequence",
    ObjectType.WAREHOUSE: "Warehouse",
}
"""How messages call the kinds that no feature brings."""


def noun(kind: ObjectType) -> str:
    """How messages call the kind."""
    return all_kinds().nouns.get(kind) or _NOUNS[kind]


def find(
    run: FindingStatement,
    state: StateReader,
    kind: ObjectType,
    name: NameRef,
    arguments: tuple[SqlText, ...] | None = None,
) -> CatalogObject | None:
    """The object that a statement means; a table where a view was meant, and the other way round, is an error."""
    wanted = kept_as(kind)
    full = run.object_name(name)
    if has_arguments(wanted):
        return _routine(run, state, wanted, name, arguments or ())
    kinds = RELATIONS if wanted in RELATIONS else [wanted]
    found = state.catalog.find(full, kinds, run.session.id)
    if found is not None and (found.kind is not wanted or is_dynamic(found) != (kind is ObjectType.DYNAMIC_TABLE)):
        raise errors.wrong_kind(shown_kind(found), kind.replace(" ", "_"))
    return found


def kept_as(kind: ObjectType) -> ObjectKind:
    """The kind of catalog object: a dynamic table is a table. Raises ValueError for what lives in no schema."""
    if kind is ObjectType.DYNAMIC_TABLE:
        return ObjectKind.TABLE
    if kind not in definitions.kinds():
        raise ValueError(f"{kind} is not a kind of object in a schema")
    return kind


def is_dynamic(item: CatalogObject) -> bool:
    return isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None


def shown_kind(item: CatalogObject) -> str:
    return "DYNAMIC_TABLE" if is_dynamic(item) else item.kind.replace(" ", "_")


def _routine(
    run: FindingStatement, state: StateReader, kind: ObjectKind, name: NameRef, arguments: tuple[SqlText, ...]
) -> CatalogObject | None:
    types = [parse_type(argument.text) for argument in arguments]
    wanted = [type_.kind if type_ is not None else None for type_ in types]
    for item in state.catalog.routines(run.object_name(name), kind, run.session.id):
        assert isinstance(item.definition, RoutineDefinition)
        if [argument.type.kind for argument in item.definition.arguments] == wanted:
            return item
    return None


def require(
    run: FindingStatement,
    state: StateReader,
    kind: ObjectType,
    name: NameRef,
    arguments: tuple[SqlText, ...] | None = None,
) -> CatalogObject:
    found = find(run, state, kind, name, arguments)
    if found is None:
        raise missing(run, kind, name, arguments)
    return found


def to_alter(run: ChangingStatement, kind: ObjectType, name: NameRef, *, if_exists: bool) -> CatalogObject | None:
    """What an ALTER is about; None where there is no such object, and IF EXISTS says that this is fine."""
    with run.state.read() as state:
        return find(run, state, kind, name) if if_exists else require(run, state, kind, name)


def missing(
    run: FindingStatement, kind: ObjectType, name: NameRef, arguments: tuple[SqlText, ...] | None = None
) -> errors.SnowmeltError:
    shown = str(run.object_name(name))
    if arguments is not None:
        shown += f"({', '.join(argument.text for argument in arguments)})"
    return errors.not_found(noun(kind), shown)


def create(
    run: ChangingStatement, kind: ObjectType, name: NameRef, definition: Definition, *,
    or_replace: bool, if_not_exists: bool, temporary: bool = False, comment: str | None = None, id: str | None = None,
    contract: ContractLink | None = None,
) -> Result:  # fmt: skip
    """CREATE [OR REPLACE] [TEMPORARY] … [IF NOT EXISTS] for everything but tables and routines."""
    made = id or new_id()
    full = run.object_name(name, f"CREATE {kind}")
    query_type = f"CREATE_{kind.replace(' ', '_')}"
    session_id = run.session.id if temporary else None
    wanted = kind
    kinds = RELATIONS if wanted in RELATIONS else [wanted]
    with run.state.begin() as state:
        if state.catalog.database(full.database) is None:
            raise errors.not_found("Database", quote(full.database))
        if state.catalog.schema(full.parent) is None:
            raise errors.not_found("Schema", str(full.parent))
        existing = state.catalog.find(full, kinds, session_id)
        # What is temporary may take the name of something permanent, which it hides.
        if existing is not None and existing.session_id == session_id:
            if existing.kind is not wanted:
                raise errors.exists_as(quote(full.name), existing.kind)
            if if_not_exists:
                return kept(full.name, query_type)
            if not or_replace:
                raise errors.already_exists(run.written(name))
            state.catalog.drop(existing.id, state.now)
            run.account.lifecycle.replaced(state, existing, getattr(definition, "columns", ()), made)
        if contract is not None:
            state.contracts.put(contract.model_copy(update={"object_id": made}))
        item = CatalogObject(
            id=made,
            name=full,
            owner=run.session.role,
            comment=comment,
            session_id=session_id,
            created_on=state.now,
            altered_on=state.now,
            definition=definition,
        )
        state.catalog.create(item)
        annotate_created(run, state, item)
    own = all_kinds().by_name.get(kind)
    called = (own.created_noun if own is not None else None) or noun(kind)
    return status(f"{called} {quote(full.name)} successfully created.", query_type)


def alter(
    run: ChangingStatement, item: CatalogObject, definition: dict[str, Any] | Callable[[Any], dict[str, Any]], *,
    comment: str | None = None, uncomment: bool = False,
) -> None:  # fmt: skip
    """Other values for parts of the definition, and another comment or none.

    Values that follow from what is there are worked out from it, in the same step.
    """
    with run.state.begin() as state:
        current = state.catalog.by_id(item.id)
        if current is None or current.dropped_on is not None:
            raise errors.cannot_operate()
        given = definition(current.definition) if callable(definition) else definition
        changed = current.definition.model_copy(update=given)
        values: dict[str, Any] = {"definition": changed, "altered_on": state.now}
        if comment is not None or uncomment:
            values["comment"] = comment
        state.catalog.update(current.model_copy(update=values))
