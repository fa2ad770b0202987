"""The rows of the views: each function gives those of the whole account, newest first where they are a history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.information_schema.views import view_rows
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.rights.definitions import rows_without_secrets
from snowmelt.runtime.rights.privileges import ACCOUNT
from snowmelt.runtime.schema_objects import shown_kind
from snowmelt.runtime.table_functions import MAX_RESULTS, Arguments
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.access_model import Grant, GranteeKind
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Rows = Callable[["Run", StateReader], Iterable[Row]]
_METERED, _LOADED = timedelta(days=179), timedelta(days=13)
_UNDER_WAY = ("RUNNING", "QUEUED", "BLOCKED", "RESUMING_WAREHOUSE")
_STATUS = {"FAILED_WITH_ERROR": "FAIL", "FAILED_WITH_INCIDENT": "INCIDENT"}


def _each_database(view: str) -> Rows:
    """The rows of a view of INFORMATION_SCHEMA, of all databases."""

    def rows(run: Run, state: StateReader) -> Iterator[Row]:
        for database in state.catalog.databases():
            for row in view_rows()[view](run, state, database):
                if row.get("TABLE_SCHEMA") != INFORMATION_SCHEMA:
                    yield {"OWNER_ROLE_TYPE": "ROLE", **row}

    return rows


def _views(run: Run, state: StateReader) -> Iterator[Row]:
    """What a secure view is made of, its owner alone may know."""
    for row in _each_database("VIEWS")(run, state):
        yield {**row, "VIEW_DEFINITION": None if row["IS_SECURE"] == "YES" else row["VIEW_DEFINITION"]}


def _databases(run: Run, state: StateReader) -> Iterable[Row]:
    first = next(iter(state.catalog.databases()), None)
    return () if first is None else view_rows()["DATABASES"](run, state, first)


def _called(run: Run, state: StateReader, name: str, **given: str | int) -> list[Row]:
    """The rows of a table function of INFORMATION_SCHEMA."""
    function = run.account.features.table_functions[name]
    if "RESULT_LIMIT" in function.arguments:
        given["RESULT_LIMIT"] = MAX_RESULTS
    literals: dict[str, exp.Expr] = {
        key: exp.Literal.number(value) if isinstance(value, int) else exp.Literal.string(value)
        for key, value in given.items()
    }
    return rows_without_secrets(function.rows(run, state, Arguments(run, function, literals)))


def _queries(run: Run, state: StateReader) -> Iterator[Row]:
    for row in _called(run, state, "QUERY_HISTORY"):
        status = str(row["EXECUTION_STATUS"])
        if status in _UNDER_WAY:
            continue
        code = row["ERROR_CODE"]
        yield {
            **row, "EXECUTION_STATUS": _STATUS.get(status, status), "ROLE_TYPE": "ROLE",
            "ERROR_CODE": f"{code:06}" if isinstance(code, int) else None,
        }  # fmt: skip


def _logins(run: Run, state: StateReader) -> Iterable[Row]:
    return _called(run, state, "LOGIN_HISTORY")


def _task_runs(run: Run, state: StateReader) -> Iterator[Row]:
    """Those that have ended: what is due is not history."""
    return (row for row in _called(run, state, "TASK_HISTORY") if row.get("COMPLETED_TIME") is not None)


def _refreshes(run: Run, state: StateReader) -> Iterable[Row]:
    return _called(run, state, "DYNAMIC_TABLE_REFRESH_HISTORY")


def _metering(run: Run, state: StateReader) -> Iterator[Row]:
    since = (run.now - _METERED).date().isoformat()
    for row in _called(run, state, "WAREHOUSE_METERING_HISTORY", DATE_RANGE_START=since):
        yield {**row, "CREDITS_ATTRIBUTED_COMPUTE_QUERIES": row["CREDITS_USED_COMPUTE"]}


def _days(run: Run, state: StateReader) -> Iterator[Row]:
    totals: dict[date, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row in _metering(run, state):
        for name in ("CREDITS_USED_COMPUTE", "CREDITS_USED_CLOUD_SERVICES", "CREDITS_USED"):
            totals[row["START_TIME"].date()][name] += Decimal(str(row[name] or 0))
    for day, used in sorted(totals.items(), reverse=True):
        yield {
            "SERVICE_TYPE": "WAREHOUSE_METERING", "USAGE_DATE": day, **used,
            "CREDITS_ADJUSTMENT_CLOUD_SERVICES": Decimal(0), "CREDITS_BILLED": used["CREDITS_USED"],
        }  # fmt: skip


def _storage(run: Run, state: StateReader) -> Iterator[Row]:
    schemas = {(item.database, item.name): item.created_on for item in state.catalog.schemas()}
    databases = {item.name: item.created_on for item in state.catalog.databases()}
    for row in _each_database("TABLES")(run, state):
        if row["TABLE_TYPE"] == "VIEW" or row["BYTES"] is None:
            continue
        yield {
            **row, "ACTIVE_BYTES": row["BYTES"], "FAILSAFE_BYTES": 0, "DELETED": False,
            "TABLE_CREATED": row["CREATED"],
            "SCHEMA_CREATED": schemas.get((row["TABLE_CATALOG"], row["TABLE_SCHEMA"])),
            "CATALOG_CREATED": databases.get(row["TABLE_CATALOG"]),
        }  # fmt: skip


def _loads(run: Run, state: StateReader) -> Iterator[Row]:
    since = (run.now - _LOADED).isoformat()
    for item in state.catalog.objects(RELATIONS):
        if isinstance(item.definition, TableDefinition):
            yield from _called(run, state, "COPY_HISTORY", TABLE_NAME=str(item.name), START_TIME=since)


# -- rights -----------------------------------------------------------------------------------------------------------


def _users(_: Run, state: StateReader) -> Iterator[Row]:
    for user in state.access.users():
        yield {
            "NAME": user.name, "CREATED_ON": user.created_on, "LOGIN_NAME": user.login_name,
            "DISPLAY_NAME": user.display_name, "FIRST_NAME": user.first_name, "LAST_NAME": user.last_name,
            "EMAIL": user.email, "MUST_CHANGE_PASSWORD": user.must_change_password,
            "HAS_PASSWORD": user.password_hash is not None, "COMMENT": user.comment, "DISABLED": user.disabled,
            "SNOWFLAKE_LOCK": False, "DEFAULT_WAREHOUSE": user.default_warehouse,
            "DEFAULT_NAMESPACE": user.default_namespace, "DEFAULT_ROLE": user.default_role, "EXT_AUTHN_DUO": False,
            "HAS_MFA": False, "LAST_SUCCESS_LOGIN": user.last_login, "LOCKED_UNTIL_TIME": user.locked_until,
            "HAS_RSA_PUBLIC_KEY": user.rsa_public_key is not None, "PASSWORD_LAST_SET_TIME": user.password_changed_on,
            "OWNER": user.owner, "DEFAULT_SECONDARY_ROLE": ",".join(user.default_secondary_roles), "TYPE": user.type,
            "HAS_PAT": bool(state.access.tokens(user.name)),
        }  # fmt: skip


def _roles(_: Run, state: StateReader) -> Iterator[Row]:
    for role in state.access.roles():
        yield {
            "CREATED_ON": role.created_on, "NAME": role.name, "COMMENT": role.comment, "OWNER": role.owner,
            "ROLE_TYPE": "ROLE", "OWNER_ROLE_TYPE": "ROLE" if role.owner else None,
        }  # fmt: skip


def _grants_to_roles(_: Run, state: StateReader) -> Iterator[Row]:
    names = [role.name for role in state.access.roles()]
    for item in state.catalog.objects():
        yield _granted("OWNERSHIP", item.name, shown_kind(item), item.owner, item.created_on, item.owner, option=True)
    objects = {item.id: item for item in state.catalog.objects()}
    containers: dict[str, ObjectName] = {item.id: ObjectName("", "", item.name) for item in state.catalog.databases()}
    containers |= {item.id: ObjectName(item.database, "", item.name) for item in state.catalog.schemas()}
    containers |= {item.id: ObjectName("", "", item.name) for item in state.warehouses.list()}
    for grant in state.access.granted_to(GranteeKind.ROLE, names):
        name = _name_of(grant, objects, containers)
        if name is not None:
            yield _granted(
                grant.privilege, name, grant.on_kind, grant.grantee, grant.created_on, grant.granted_by,
                option=grant.grant_option,
            )  # fmt: skip


def _name_of(grant: Grant, objects: dict[str, CatalogObject], containers: dict[str, ObjectName]) -> ObjectName | None:
    if grant.on_kind in (ACCOUNT, "ROLE", "USER"):
        return ObjectName("", "", grant.on_id or "SNOWMELT")
    found = objects.get(grant.on_id)
    return found.name if found is not None else containers.get(grant.on_id)


def _granted(
    privilege: str, name: ObjectName, kind: str, grantee: str, created: Any, by: str, *, option: bool
) -> Row:  # fmt: skip
    return {
        "CREATED_ON": created, "MODIFIED_ON": created, "PRIVILEGE": privilege, "GRANTED_ON": kind.replace(" ", "_"),
        "NAME": name.name, "TABLE_CATALOG": name.database or None, "TABLE_SCHEMA": name.schema or None,
        "GRANTED_TO": "ROLE", "GRANTEE_NAME": grantee, "GRANT_OPTION": option, "GRANTED_BY": by,
        "GRANTED_BY_ROLE_TYPE": "ROLE",
    }  # fmt: skip


def _grants_to_users(_: Run, state: StateReader) -> Iterator[Row]:
    for grant in state.access.memberships():
        if grant.grantee_kind is GranteeKind.USER:
            yield {
                "CREATED_ON": grant.created_on, "ROLE": grant.on_id, "GRANTED_TO": "USER",
                "GRANTEE_NAME": grant.grantee, "GRANTED_BY": grant.granted_by,
            }  # fmt: skip


# -- what leads to what -----------------------------------------------------------------------------------------------


def _policies(run: Run, state: StateReader) -> Iterator[Row]:
    for item in state.catalog.objects():
        if item.kind.endswith(" POLICY"):
            yield from _called(run, state, "POLICY_REFERENCES", POLICY_NAME=str(item.name))


def _dependencies(_: Run, state: StateReader) -> Iterator[Row]:
    """What views and dynamic tables name. What they name that is gone is no dependency any more."""
    for item in state.catalog.objects(RELATIONS):
        for name in sorted(_named(item)):
            found = state.catalog.find(name, RELATIONS)
            if found is not None:
                yield {
                    "REFERENCED_DATABASE": found.name.database, "REFERENCED_SCHEMA": found.name.schema,
                    "REFERENCED_OBJECT_NAME": found.name.name, "REFERENCED_OBJECT_DOMAIN": shown_kind(found),
                    "REFERENCING_DATABASE": item.name.database, "REFERENCING_SCHEMA": item.name.schema,
                    "REFERENCING_OBJECT_NAME": item.name.name, "REFERENCING_OBJECT_DOMAIN": shown_kind(item),
                    "DEPENDENCY_TYPE": "BY_NAME",
                }  # fmt: skip


def _named(item: CatalogObject) -> set[ObjectName]:
    definition = item.definition
    if isinstance(definition, TableDefinition):
        if definition.dynamic is None:
            return set()
        text, home = definition.dynamic.query, (definition.dynamic.database, definition.dynamic.schema_)
    elif isinstance(definition, ViewDefinition):
        text, home = definition.query, (definition.database, definition.schema_)
    else:
        return set()
    try:
        tree = parse_snowflake(text)
    except SnowmeltError:
        return set()
    own = {fold_identifier(cte.args["alias"].this) for cte in tree.find_all(exp.CTE)}
    found: set[ObjectName] = set()
    for table in tree.find_all(exp.Table):
        parts = [fold_identifier(part) for part in table.parts if isinstance(part, exp.Identifier)]
        if parts and not (len(parts) == 1 and parts[0] in own):
            found.add(ObjectName(*(*home[: 3 - len(parts)], *parts)))
    return found


ROWS: dict[str, Rows] = {
    "DATABASES": _databases,
    **{name: _each_database(name) for name in ("SCHEMATA", "TABLES", "COLUMNS")},
    "VIEWS": _views,
    "USERS": _users,
    "ROLES": _roles,
    "GRANTS_TO_ROLES": _grants_to_roles,
    "GRANTS_TO_USERS": _grants_to_users,
    "QUERY_HISTORY": _queries,
    "LOGIN_HISTORY": _logins,
    "TASK_HISTORY": _task_runs,
    "DYNAMIC_TABLE_REFRESH_HISTORY": _refreshes,
    "WAREHOUSE_METERING_HISTORY": _metering,
    "METERING_DAILY_HISTORY": _days,
    "TABLE_STORAGE_METRICS": _storage,
    "COPY_HISTORY": _loads,
    "POLICY_REFERENCES": _policies,
    "OBJECT_DEPENDENCIES": _dependencies,
}
