"""DESCRIBE: one object in detail. Answered from the state store alone, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.metadata import formats, layouts
from snowmelt.runtime.metadata.access import find_user
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA, find_object, find_relation, objects
from snowmelt.runtime.metadata.columns import Columns, Row, result, word, yes
from snowmelt.runtime.metadata.ddl_routines import created_by
from snowmelt.runtime.metadata.ddl_scripts import matching_routine
from snowmelt.runtime.metadata.routines import returned_type, signature
from snowmelt.runtime.metadata.schema_objects import sequence
from snowmelt.runtime.metadata.scopes import existing_schema
from snowmelt.runtime.metadata.stages import stage_properties
from snowmelt.runtime.metadata.table_columns import columns_of, identity_text
from snowmelt.runtime.results import Result
from snowmelt.runtime.rights import credentials
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.describe import DescribeStatement
from snowmelt.state import definitions
from snowmelt.state.model import (
    CatalogObject,
    Column,
    ObjectKind,
    RoutineDefinition,
    StageDefinition,
    TableDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_RELATIONS = {
    "TABLE": "Table", "VIEW": "View", "MATERIALIZED VIEW": "Materialized view", "DYNAMIC TABLE": "Dynamic table",
    "EXTERNAL TABLE": "External table", "EVENT TABLE": "Event table",
}  # fmt: skip
"""Interchangeable words: each describes any table or view. The noun is for the error."""


def describe(run: Run, statement: DescribeStatement) -> Result:
    with run.state.read() as state:
        layout, rows = _described(run, state, statement)
        return result(layout, list(rows), "DESCRIBE")


def _described(run: Run, state: StateReader, statement: DescribeStatement) -> tuple[Columns, Iterator[Row]]:
    kind, name = statement.kind, statement.name
    if kind == "RESULT":
        return layouts.DESCRIBE_RESULT, _result(run, statement)
    assert name is not None, "only RESULT has no name"
    if kind in _RELATIONS:
        found = _relation(run, state, name, _RELATIONS[kind])
        if statement.type == "STAGE":
            return layouts.DESCRIBE_STAGE, _table_stage(found)
        return _table_layout(found), _columns(found)
    match kind:
        case "DATABASE":
            return layouts.DESCRIBE_CONTAINER, _database(run, state, name)
        case "SCHEMA":
            return layouts.DESCRIBE_CONTAINER, _schema(run, state, name)
        case "WAREHOUSE":
            return layouts.DESCRIBE_CONTAINER, _warehouse(run, state, name)
        case "FUNCTION" | "PROCEDURE":
            return layouts.DESCRIBE_ROUTINE, _routine(run, state, statement, name)
        case "USER":
            return layouts.DESCRIBE_USER, _user(run, state, name)
    own = all_kinds().by_name.get(ObjectKind(kind))
    if own is not None and own.describe is not None:
        layout, rows = own.describe(run, state, _find(run, state, name, own.name, own.noun))
        return layout, iter(rows)
    if kind == "SEQUENCE":
        item = _find(run, state, name, ObjectKind.SEQUENCE, "Sequence")
        return layouts.SHOW["SEQUENCES"], iter([sequence(state, item)])
    # Pipes can't exist here, so whatever the name is, it is not there.
    full = run.object_name(name, f"DESCRIBE {kind}")
    existing_schema(state, full)
    raise errors.not_found(kind.capitalize(), str(full))


# -- tables and views -------------------------------------------------------------------------------------------------


def _relation(run: Run, state: StateReader, name: NameRef, noun: str) -> CatalogObject:
    full = run.object_name(name, "DESCRIBE")
    found = find_relation(run, state, full)
    if found is None:
        existing_schema(state, full)
        raise errors.not_found(noun, str(full))
    return found


def _table_layout(item: CatalogObject) -> Columns:
    definition = item.definition
    if isinstance(definition, TableDefinition) and definition.schema_evolution:
        return layouts.DESCRIBE_EVOLVING_TABLE
    return layouts.DESCRIBE_TABLE


def _columns(item: CatalogObject) -> Iterator[Row]:
    definition = item.definition
    primary: tuple[str, ...] = ()
    unique: set[str] = set()
    if isinstance(definition, TableDefinition):
        primary = definition.primary_key.columns if definition.primary_key is not None else ()
        unique = {column for key in definition.unique_keys for column in key.columns}
    for column in columns_of(item):
        yield {
            "name": column.name,
            "type": str(column.type),
            "kind": "COLUMN",
            "null?": yes(column.nullable),
            "default": _default(column),
            "primary key": yes(column.name in primary),
            "unique key": yes(column.name in unique),
            "comment": column.comment,
        }


def _default(column: Column) -> str | None:
    return identity_text(column.identity) if column.identity is not None else column.default


def _table_stage(item: CatalogObject) -> Iterator[Row]:
    if not isinstance(item.definition, TableDefinition):
        raise errors.unsupported("DESCRIBE VIEW … TYPE = STAGE", hint="A view has no stage.")
    return stage_properties(StageDefinition())


def _result(run: Run, statement: DescribeStatement) -> Iterator[Row]:
    assert statement.query_id is not None, "DESCRIBE RESULT has a query id"
    query_id = str(run.evaluate(statement.query_id).value)
    found = run.account.results.get(query_id, run.session.user, run.authority.roles)
    if found is None:
        raise errors.statement_not_found(query_id)
    for column in found.columns:
        yield {
            "name": column.name,
            "type": str(column.type),
            "kind": "COLUMN",
            "null?": yes(column.nullable),
            "primary key": "N",
            "unique key": "N",
        }


# -- containers -------------------------------------------------------------------------------------------------------


def _database(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    database = state.catalog.database(run.parts(name)[-1])
    if database is None:
        raise errors.not_found("Database", quote(run.parts(name)[-1]))
    rows = [(schema.name, schema.created_on) for schema in state.catalog.schemas(database.name)]
    for schema_name, created_on in sorted([*rows, (INFORMATION_SCHEMA, database.created_on)]):
        yield {"created_on": created_on, "name": schema_name, "kind": "SCHEMA"}


def _schema(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    full = run.schema_name(name)
    existing_schema(state, ObjectName(full.database, full.name, ""))
    for item in objects(run, state, definitions.kinds(), full.database, full.name):
        yield {"created_on": item.created_on, "name": item.name.name, "kind": item.kind.value}


def _warehouse(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    warehouse = state.warehouses.get(run.parts(name)[-1])
    if warehouse is None:
        raise errors.not_found("Warehouse", quote(run.parts(name)[-1]))
    yield {"created_on": warehouse.created_on, "name": warehouse.name, "kind": "WAREHOUSE"}


def _user(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    """Says of secrets only that they are there; of a key its fingerprint, which is public."""
    user = find_user(run, state, run.parts(name)[-1])
    keys = (user.rsa_public_key, user.rsa_public_key_2)
    prints = [credentials.fingerprint(key) if key is not None else None for key in keys]
    properties = {
        "NAME": (user.name, "Name"),
        "COMMENT": (user.comment, "user comment associated to an object in the dictionary"),
        "DISPLAY_NAME": (user.display_name, "Display name of the user"),
        "TYPE": (user.type, "Type of the user"),
        "LOGIN_NAME": (user.login_name, "Login name of the user"),
        "FIRST_NAME": (user.first_name, "First name of the user"),
        "LAST_NAME": (user.last_name, "Last name of the user"),
        "EMAIL": (user.email, "Email address of the user"),
        "PASSWORD": ("********" if user.password_hash is not None else None, "Password of the user"),
        "MUST_CHANGE_PASSWORD": (word(user.must_change_password), "User must change the password"),
        "DISABLED": (word(user.disabled), "Whether the user is disabled"),
        "DEFAULT_WAREHOUSE": (user.default_warehouse, "Default warehouse of the user's sessions"),
        "DEFAULT_NAMESPACE": (user.default_namespace, "Default namespace of the user's sessions"),
        "DEFAULT_ROLE": (user.default_role, "Default role of the user's sessions"),
        "DEFAULT_SECONDARY_ROLES": (json.dumps(list(user.default_secondary_roles)), "Secondary roles of sessions"),
        "RSA_PUBLIC_KEY_FP": (prints[0], "Fingerprint of the user's RSA public key"),
        "RSA_PUBLIC_KEY_2_FP": (prints[1], "Fingerprint of the user's second RSA public key"),
    }
    for key, (value, description) in properties.items():
        yield {"property": key, "value": value or "null", "default": "null", "description": description}


# -- objects in schemas -----------------------------------------------------------------------------------------------


def _find(run: Run, state: StateReader, name: NameRef, kind: ObjectKind, noun: str) -> CatalogObject:
    full = run.object_name(name, f"DESCRIBE {kind}")
    found = find_object(run, state, full, [kind])
    if found is None:
        existing_schema(state, full)
        raise errors.not_found(noun, str(full))
    return found


def _routine(run: Run, state: StateReader, statement: DescribeStatement, name: NameRef) -> Iterator[Row]:
    kind = ObjectKind(statement.kind)
    full = run.object_name(name, f"DESCRIBE {kind}")
    existing_schema(state, full)
    words = [argument.text for argument in statement.arguments or ()]
    item = matching_routine(run, state, kind, full, words)
    assert isinstance(item.definition, RoutineDefinition)
    for key, value in _routine_properties(item.definition).items():
        yield {"property": key, "value": value if key != "body" or may_read_definition(run, item) else None}


def _routine_properties(definition: RoutineDefinition) -> dict[str, str]:
    properties = {
        "signature": signature(definition),
        "returns": returned_type(definition),
        "language": definition.language,
    }
    if definition.kind == "PROCEDURE":
        properties["execute as"] = "CALLER" if definition.execute_as_caller else "OWNER"
    properties["body"] = definition.body
    written = created_by(definition)
    if definition.language == "PYTHON" and written is not None:
        properties["handler"] = definition.handler or ""
        properties["runtime_version"] = written.options.runtime_version or ""
        properties["packages"] = formats.shown(written.options.packages or ())
        properties["imports"] = formats.shown(written.options.imports or ())
    return properties
