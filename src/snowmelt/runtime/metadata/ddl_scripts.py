"""GET_DDL: finding the object, and the scripts that recreate a schema or database with all it holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote, split_name
from snowmelt.core.types import parse_type
from snowmelt.govern.quality.ddl import statement_of
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.metadata.catalog import find_object, find_relation, find_routines
from snowmelt.runtime.metadata.catalog import objects as shown_objects
from snowmelt.runtime.metadata.ddl import database_ddl, object_ddl, schema_ddl, warehouse_ddl
from snowmelt.runtime.metadata.ddl_words import listed, object_name
from snowmelt.runtime.rights.enforcement import is_hidden, may_read_definition
from snowmelt.runtime.schema_objects import shown_kind
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.kinds import has_arguments
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject, ObjectKind, RoutineDefinition, Schema, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_SIMPLE = {
    "SEQUENCE": ([ObjectKind.SEQUENCE], "Sequence"),
}
_ANY_POLICY = "POLICY"
"""The word for policies of all kinds."""
_ELSEWHERE = frozenset(
    {
        "CONTACT", "EVENT_TABLE", "EXTERNAL_TABLE", "ICEBERG_TABLE", "INTEGRATION",
        "SEMANTIC_VIEW", "TYPE",
    }
)  # fmt: skip
"""Types that Snowflake has and that can't exist here."""
SCRIPT_ORDER = {ObjectKind.SEQUENCE: 10, ObjectKind.TABLE: 40, ObjectKind.VIEW: 60}
"""What is created first in a script: defaults use sequences, views use tables and functions. Features say where theirs
stand among these."""


def get_ddl(run: Run, state: StateReader, type_: str, name: str, *, qualified: bool) -> str:
    """The text for an object by the name of its type, such as TABLE or FILE_FORMAT, and its own name."""
    kind = type_.strip().upper().replace(" ", "_")
    if kind in ("TABLE", "VIEW", "DYNAMIC_TABLE"):
        return _relation(run, state, kind, name, qualified=qualified)
    if has_arguments(ObjectKind(kind)):
        return _readable(run, find_routine(run, state, ObjectKind(kind), name), qualified=qualified)
    simple = _simple(kind)
    if simple is not None:
        wanted, noun = simple
        full = run.object_name(_parts(name), "GET_DDL")
        found = find_object(run, state, full, wanted)
        if found is None:
            raise errors.not_found(noun, str(full))
        return object_ddl(found, qualified=qualified)
    if kind == "SCHEMA":
        return _schema(run, state, name, qualified=qualified)
    if kind == "DATABASE":
        return _database(run, state, name, qualified=qualified)
    if kind == "WAREHOUSE":
        return _warehouse(state, name)
    if kind in _ELSEWHERE:
        raise errors.unsupported(f"GET_DDL of {kind.replace('_', ' ')}")
    raise errors.invalid_value(type_, "object_type")


def _simple(word: str) -> tuple[list[ObjectKind], str] | None:
    if word == _ANY_POLICY:
        return [kind.name for kind in all_kinds().descriptions if kind.name.endswith(f" {_ANY_POLICY}")], "Policy"
    own = all_kinds().by_name.get(ObjectKind(word.replace("_", " ")))
    return ([own.name], own.noun) if own is not None else _SIMPLE.get(word)


def _order() -> list[ObjectKind]:
    order = SCRIPT_ORDER | {kind.name: kind.script_order for kind in all_kinds().descriptions}
    return sorted(order, key=lambda kind: order[kind])


def _parts(name: str) -> tuple[str, ...]:
    parts = split_name(name.strip())
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "object_name")
    return parts


def _relation(run: Run, state: StateReader, kind: str, name: str, *, qualified: bool) -> str:
    """TABLE and VIEW are interchangeable."""
    full = run.object_name(_parts(name), "GET_DDL")
    found = find_relation(run, state, full)
    if found is None:
        raise errors.not_found(kind.replace("_", " ").capitalize(), str(full))
    more = [*_checks([found], qualified=qualified), *_policies(run, state, [found], qualified=qualified)]
    return "\n\n".join([_readable(run, found, qualified=qualified), *more])


def _checks(items: Iterable[CatalogObject], *, qualified: bool) -> list[str]:
    """The statements that add the quality checks of tables, which CREATE TABLE has no clause for."""
    return [
        f"{statement_of(object_name(item.name, qualified=qualified), check)};"
        for item in items
        if isinstance(item.definition, TableDefinition)
        for check in item.definition.quality
    ]


def _policies(run: Run, state: StateReader, items: Iterable[CatalogObject], *, qualified: bool) -> list[str]:
    """The statements that put policies on what was created, once it and they are there."""
    found: list[str] = []
    for item in items:
        name = object_name(item.name, qualified=qualified)
        for reference in state.policies.of_object(item.id):
            policy = state.catalog.by_id(reference.policy_id)
            if policy is None or is_hidden(state, policy, run.session.id):
                continue
            what = f"{policy.kind.lower()} {object_name(policy.name, qualified=True)}"
            given = listed(reference.arguments)
            if not isinstance(item.definition, TableDefinition | ViewDefinition):
                clause = f"set {what}"
            elif reference.column and not reference.arguments:
                clause = f"modify column {spelled(reference.column)} set {what}"
            elif reference.kind == "AGGREGATION POLICY":
                clause = f"set {what}{f' entity key {given}' if reference.arguments else ''}"
            elif reference.column:
                clause = f"modify column {spelled(reference.column)} set {what} using {given}"
            else:
                clause = f"add {what} on {given}"
            found.append(f"alter {shown_kind(item).replace('_', ' ').lower()} {name} {clause};")
    return found


def _readable(run: Run, item: CatalogObject, *, qualified: bool) -> str:
    if not may_read_definition(run, item):
        raise errors.insufficient_privileges(item.kind.lower(), item.name.name)
    return object_ddl(item, qualified=qualified)


def _warehouse(state: StateReader, name: str) -> str:
    parts = _parts(name)
    found = state.warehouses.get(parts[0]) if len(parts) == 1 else None
    if found is None:
        raise errors.not_found("Warehouse", name)
    return warehouse_ddl(found)


def find_routine(run: Run, state: StateReader, kind: ObjectKind, text: str) -> CatalogObject:
    """The function or procedure that `name(type, …)` means. Sizes in the types do not matter."""
    name, _, rest = text.strip().partition("(")
    full = run.object_name(_parts(name), "GET_DDL")
    words = [word.strip() for word in _split_types(rest.removesuffix(")"))]
    return matching_routine(run, state, kind, full, words)


def matching_routine(
    run: Run, state: StateReader, kind: ObjectKind, full: ObjectName, words: list[str]
) -> CatalogObject:
    """The overload whose arguments have these types. Raises the not-found error that names it."""
    types = [parse_type(word) for word in words]
    for item in find_routines(run, state, full, kind):
        assert isinstance(item.definition, RoutineDefinition)
        kinds = [argument.type.kind for argument in item.definition.arguments]
        if kinds == [type_.kind if type_ is not None else None for type_ in types]:
            return item
    raise errors.not_found(kind.value.capitalize(), f"{full}({', '.join(words)})")


def _split_types(text: str) -> Iterable[str]:
    """`NUMBER(10, 2), VARCHAR` at the commas that are not inside parentheses."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text[start:].strip():
        yield text[start:]


# -- schemas and databases --------------------------------------------------------------------------------------------


def _schema(run: Run, state: StateReader, name: str, *, qualified: bool) -> str:
    parts = _parts(name)
    if len(parts) > 2:
        raise errors.invalid_value(name, "object_name")
    full = run.schema_name(parts)
    schema = state.catalog.schema(full)
    if schema is None:
        raise errors.not_found("Schema", str(full))
    found = _readable_objects(run, state, schema)
    more = [*_checks(found, qualified=qualified), *_policies(run, state, found, qualified=qualified)]
    return "\n\n".join([*_schema_script(schema, found, qualified=qualified), *more])


def _database(run: Run, state: StateReader, name: str, *, qualified: bool) -> str:
    parts = _parts(name)
    database = state.catalog.database(parts[0]) if len(parts) == 1 else None
    if database is None:
        raise errors.not_found("Database", quote(parts[0]))
    statements, checks = [database_ddl(database)], []
    for schema in state.catalog.schemas(database.name):
        found = _readable_objects(run, state, schema)
        statements.extend(_schema_script(schema, found, qualified=qualified))
        # Behind everything, for they refer to tables of any schema; unlike the rest, whatever the schema in use is.
        checks.extend(_checks(found, qualified=True))
        checks.extend(_policies(run, state, found, qualified=True))
    return "\n\n".join([*statements, *checks])


def _readable_objects(run: Run, state: StateReader, schema: Schema) -> list[CatalogObject]:
    found = shown_objects(run, state, _order(), schema.database, schema.name)
    return [item for item in found if may_read_definition(run, item)]


def _schema_script(schema: Schema, found: list[CatalogObject], *, qualified: bool) -> list[str]:
    statements = [schema_ddl(schema, qualified=qualified)]
    for kind in _order():
        items = [item for item in found if item.kind is kind]
        if kind is ObjectKind.VIEW:
            items = in_dependency_order(items)
        own = all_kinds().by_name.get(kind)
        if own is not None and own.in_order is not None:
            items = own.in_order(items)
        statements.extend(object_ddl(item, qualified=qualified) for item in items)
    return statements


def in_dependency_order(views: list[CatalogObject]) -> list[CatalogObject]:
    """Views such that each comes behind those it reads; by name where nothing else decides."""
    by_name = {item.name: item for item in views}
    ordered: dict[ObjectName, CatalogObject] = {}
    visiting: set[ObjectName] = set()

    def visit(item: CatalogObject) -> None:
        if item.name in ordered or item.name in visiting:
            return
        visiting.add(item.name)
        for name in sorted(view_reads(item)):
            if name in by_name:
                visit(by_name[name])
        ordered[item.name] = item

    for item in views:
        visit(item)
    return list(ordered.values())


def view_reads(item: CatalogObject) -> set[ObjectName]:
    """The full names of what a view's query mentions in FROM."""
    definition = item.definition
    assert isinstance(definition, ViewDefinition)
    home = SchemaName(definition.database, definition.schema_)
    found: set[ObjectName] = set()
    for table in parse_snowflake(definition.query).find_all(exp.Table):
        parts = [
            part.name if isinstance(part, exp.Identifier) and part.args.get("quoted") else part.name.upper()
            for part in table.parts
        ]
        full = [home.database, home.name, ""][: 3 - len(parts)] + parts
        if len(full) == 3:
            found.add(ObjectName(*full))
    return found
