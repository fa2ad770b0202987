"""The one place where a statement is let through or not.

What a role may not know of was not found before it comes here: the catalog hides it (`state.sight`). What it knows of
and may not do is refused here. Queries come here from where their names are resolved.
"""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import SchemaName
from snowmelt.runtime import protecting, schema_objects
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.rights import errors as access_errors
from snowmelt.runtime.rights.asks import Ask, Named, RightsRequest, Subject
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.rights.privileges import ACCOUNT, EVOLVING, OWNERSHIP, rules
from snowmelt.runtime.rights.requests import requests
from snowmelt.runtime.statement import CheckedStatement
from snowmelt.sql.statements.base import ObjectType, Statement
from snowmelt.sql.statements.kinds import has_arguments
from snowmelt.sql.statements.outside import addresses
from snowmelt.sql.statements.warehouses import AlterWarehouse
from snowmelt.state.model import (
    RELATIONS,
    SELECTABLE,
    CatalogObject,
    RoutineDefinition,
    TableDefinition,
    ViewDefinition,
)
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

ACCOUNT_NAME = "SNOWMELT"
_THE_ACCOUNT = Owned("", "")
_TEMPORARY = "CREATE TEMPORARY"
"""Temporary things may take the name of something permanent, which they hide."""


@dataclass(frozen=True, slots=True)
class RightsTarget:
    """Something that rights are asked for on, as messages call it."""

    kind: str
    name: str
    item: Owned


def authorise(run: CheckedStatement, statement: Statement) -> None:
    """Called before every statement. Raises when the session's roles lack what it asks for."""
    asked = list(requests(statement))
    if not asked and not isinstance(statement, AlterWarehouse):
        return
    known = rules()
    with run.state.read() as state:
        for request in asked:
            for ask in known[request.rule]:
                found = _subject(run, state, request, ask, statement)
                if found is not None:
                    require(run, ask.privileges, found, primary=_creates(ask))
            _refuse_hidden(run, state, request)
            _check_owner_may_run(run, state, request)
    for address in addresses(statement):
        protecting.check_address(run.account, address)


def require(
    run: CheckedStatement,
    privileges: tuple[str, ...],
    found: RightsTarget,
    *,
    primary: bool = False,
    authority: Authority | None = None,
) -> None:
    """Raises, and notes it in the audit log, unless one of the privileges is held.

    `authority`: whose rights they are asked of, if not the run's.
    """
    rights = authority or run.authority
    if not any(rights.holds(privilege, found.item, primary=primary) for privilege in privileges):
        error = errors.insufficient_privileges(found.kind.lower(), found.name)
        run.account.audit.denied(run, privileges, f"{found.kind} {found.name}", error)
        raise error


def require_object(
    run: CheckedStatement, privilege: str, item: CatalogObject, authority: Authority | None = None
) -> None:
    require(run, (privilege,), found_object(item), authority=authority)


def is_hidden(state: StateReader, item: CatalogObject, session_id: str) -> bool:
    """Whether somebody may not know of what an id led to: an id passes by the schema and database it is in."""
    name, kinds = item.name, [item.kind]
    return (
        state.catalog.find(name, kinds, session_id) is None
        and state.whole_catalog.find(name, kinds, session_id) is not None
    )


def require_on_account(run: CheckedStatement, privilege: str) -> None:
    require(run, (privilege,), RightsTarget(ACCOUNT, ACCOUNT_NAME, _THE_ACCOUNT))


def found_object(item: CatalogObject) -> RightsTarget:
    kind = schema_objects.shown_kind(item).replace("_", " ")
    return RightsTarget(kind, item.name.name, Owned(item.id, item.owner))


def may_read_definition(run: CheckedStatement, item: CatalogObject) -> bool:
    """Whose text a role may read: of what is SECURE, the owner; of a dynamic table, who monitors or operates it."""
    if schema_objects.is_dynamic(item):
        return run.authority.looks_inside(Owned(item.id, item.owner))
    own = all_kinds().by_name.get(item.kind)
    secure = isinstance(item.definition, ViewDefinition | RoutineDefinition) and item.definition.secure
    secure = secure or (own is not None and own.is_guarded)
    return not secure or run.authority.holds(OWNERSHIP, Owned(item.id, item.owner))


def may_evolve(run: CheckedStatement, table: CatalogObject) -> bool:
    """Whether rows that a role loads may add columns to the table: it says so, and the role has the right."""
    definition, owned = table.definition, Owned(table.id, table.owner)
    evolves = isinstance(definition, TableDefinition) and definition.schema_evolution
    return evolves and any(run.authority.holds(privilege, owned) for privilege in EVOLVING)


def _creates(ask: Ask) -> bool:
    """Creating asks the role in use alone, which will be the owner."""
    return any(privilege.startswith("CREATE ") for privilege in ask.privileges)


def _subject(
    run: CheckedStatement, state: StateReader, request: RightsRequest, ask: Ask, statement: Statement
) -> RightsTarget | None:
    """What the privilege is asked for on; None when it is not there, which the handler says in its own words."""
    match ask.subject:
        case Subject.ACCOUNT:
            return RightsTarget(ACCOUNT, ACCOUNT_NAME, _THE_ACCOUNT)
        case Subject.TARGET:
            if isinstance(statement, AlterWarehouse) and statement.name is None:
                return _warehouse(state, run.session.warehouse)
            return find(run, state, request.target)
        case Subject.REPLACED:
            return find(run, state, request.replaced, whole=True)
        case Subject.SOURCE:
            return find(run, state, request.source)
        case Subject.WAREHOUSE:
            return _warehouse(state, run.parts(request.warehouse)[-1]) if request.warehouse is not None else None
        case Subject.SCHEMA | Subject.DATABASE:
            return _container(run, state, ask.subject, request.created)


def _refuse_hidden(run: CheckedStatement, state: StateReader, request: RightsRequest) -> None:
    """Raises when the name of what is to be created belongs to something that the role does not see."""
    created = request.created
    if created is None or run.authority.sight is None or request.rule == _TEMPORARY:
        return
    if created.kind is ObjectType.WAREHOUSE or created.kind in all_kinds().of_account:
        # They are not hidden, or not by the catalog.
        return
    if created.kind is not ObjectType.DATABASE and _container(run, state, Subject.SCHEMA, created) is None:
        return
    taken = find(run, state, created, whole=True)
    if taken is not None and not run.authority.sees(taken.item):
        raise access_errors.taken_by_hidden(taken.kind.capitalize(), taken.name)


def find(run: CheckedStatement, state: StateReader, named: Named | None, *, whole: bool = False) -> RightsTarget | None:
    """`whole`: even if the role does not see it, since it takes the name that is wanted."""
    if named is None:
        return None
    try:
        return _find(run, state, named, whole=whole)
    except SnowmeltError:
        # No current schema, or no such name: the handler's to say.
        return None


def _find(run: CheckedStatement, state: StateReader, named: Named, *, whole: bool) -> RightsTarget | None:
    catalog = state.whole_catalog if whole else state.catalog
    match named.kind:
        case ObjectType.DATABASE:
            name = run.parts(named.name)[-1]
            database = catalog.dropped_database(name) if named.dropped else catalog.database(name)
            return RightsTarget("DATABASE", name, Owned(database.id, database.owner)) if database is not None else None
        case ObjectType.SCHEMA:
            full = run.schema_name(named.name)
            schema = catalog.dropped_schema(full) if named.dropped else catalog.schema(full)
            return RightsTarget("SCHEMA", full.name, Owned(schema.id, schema.owner)) if schema is not None else None
        case ObjectType.WAREHOUSE:
            return _warehouse(state, run.parts(named.name)[-1])
    of_account = all_kinds().of_account.get(named.kind)
    if of_account is not None:
        owned = of_account.find(state, run.parts(named.name)[-1])
        return RightsTarget(named.kind.value, owned.id, owned) if owned is not None else None
    if has_arguments(named.kind):
        item = schema_objects.find(run, state, named.kind, named.name, named.arguments)
        return found_object(item) if item is not None else None
    wanted = schema_objects.kept_as(named.kind)
    parts = run.parts(named.name)
    full_name = run.object_name(parts[:-1] if named.of_column else parts)
    if named.dropped:
        item = catalog.dropped(full_name, wanted, run.session.id)
    else:
        item = catalog.find(full_name, SELECTABLE if wanted in RELATIONS else [wanted], run.session.id)
    return found_object(item) if item is not None else None


def _warehouse(state: StateReader, name: str | None) -> RightsTarget | None:
    found = state.warehouses.get(name) if name is not None else None
    return RightsTarget("WAREHOUSE", found.name, Owned(found.id, found.owner)) if found is not None else None


def _container(
    run: CheckedStatement, state: StateReader, subject: Subject, created: Named | None
) -> RightsTarget | None:
    if created is None:
        return None
    try:
        if created.kind is ObjectType.SCHEMA:
            name: SchemaName | str = run.schema_name(created.name).database
        else:
            name = run.object_name(created.name).parent
    except SnowmeltError:
        return None
    if subject is Subject.DATABASE or isinstance(name, str):
        called = name if isinstance(name, str) else name.database
        database = state.catalog.database(called)
        return RightsTarget("DATABASE", called, Owned(database.id, database.owner)) if database is not None else None
    schema = state.catalog.schema(name)
    return RightsTarget("SCHEMA", name.name, Owned(schema.id, schema.owner)) if schema is not None else None


def _check_owner_may_run(run: CheckedStatement, state: StateReader, request: RightsRequest) -> None:
    """A task or alert runs with its owner's rights, so its owner must be allowed to run it."""
    if request.is_run and request.target is not None:
        kind = request.target.kind
        task, right = find(run, state, request.target), f"EXECUTE {kind}"
        if task is not None and not run.account.access.of_role(task.item.owner).on_account(right):
            error = access_errors.task_owner_lacks_privilege(kind)
            run.account.audit.denied(run, (right,), f"{kind} {task.name}", error)
            raise error
