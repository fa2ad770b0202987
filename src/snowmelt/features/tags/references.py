"""SYSTEM$GET_TAG and TAG_REFERENCES: the tags of objects and columns, with those that they inherit.

Classes of personal data are tags, too: SNOWFLAKE.CORE.SEMANTIC_CATEGORY and PRIVACY_CATEGORY of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, split_name
from snowmelt.features.data_products.pii import classes_of
from snowmelt.features.tags.definitions import TAG
from snowmelt.features.tags.setting import tags_on
from snowmelt.govern.pii.classes import CLASSES
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.pii_at_ingest import NOT_PERSONAL
from snowmelt.state.model import RELATIONS, CatalogObject, ParameterLevel, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments as Named

_SEMANTIC = ObjectName("SNOWFLAKE", "CORE", "SEMANTIC_CATEGORY")
_PRIVACY = ObjectName("SNOWFLAKE", "CORE", "PRIVACY_CATEGORY")
_TABLES = frozenset({"TABLE", "VIEW", "DYNAMIC TABLE"})
REFERENCE_ARGUMENTS = ("OBJECT_NAME", "OBJECT_DOMAIN")
REFERENCE_COLUMNS = columns(
    "TAG_DATABASE, TAG_SCHEMA, TAG_NAME, TAG_VALUE, APPLY_METHOD, LEVEL, OBJECT_DATABASE, OBJECT_SCHEMA, OBJECT_NAME, "
    "DOMAIN, COLUMN_NAME"
)


@dataclass(frozen=True, slots=True)
class _Target:
    """Something that has tags: a database, a schema, a table or a column of one."""

    domain: str
    database: str
    schema: str | None = None
    item: CatalogObject | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    tag: ObjectName
    value: str
    level: str
    method: str


def get_tag(run: Run, state: StateReader, arguments: Sequence[Any]) -> str | None:
    """SYSTEM$GET_TAG('<tag>', '<object>', '<domain>'): NULL for what has no such tag, and inherits none."""
    tag = _tag(run, state, str(arguments[0]))
    target = _find_target(run, state, str(arguments[1]), str(arguments[2]))
    return next((each.value for each in _values(state, target) if each.tag == tag), None)


def references(run: Run, state: StateReader, arguments: Named) -> list[Row]:
    """TAG_REFERENCES('<object>', '<domain>'): the nearest value of each tag."""
    target = _find_target(run, state, arguments.text("OBJECT_NAME") or "", arguments.text("OBJECT_DOMAIN") or "")
    return list(_rows(state, target))


def all_columns(run: Run, state: StateReader, arguments: Named) -> list[Row]:
    """TAG_REFERENCES_ALL_COLUMNS('<table>', 'TABLE')."""
    domain = (arguments.text("OBJECT_DOMAIN") or "").upper()
    if domain not in _TABLES:
        raise errors.invalid_value(domain, "object_domain")
    table = _find_target(run, state, arguments.text("OBJECT_NAME") or "", domain)
    assert table.item is not None
    definition = table.item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    targets = [
        _Target("COLUMN", table.database, table.schema, table.item, column.name) for column in definition.columns
    ]
    return [row for target in targets for row in _rows(state, target)]


def _rows(state: StateReader, target: _Target) -> Iterator[Row]:
    for each in _values(state, target):
        yield {
            "TAG_DATABASE": each.tag.database,
            "TAG_SCHEMA": each.tag.schema,
            "TAG_NAME": each.tag.name,
            "TAG_VALUE": each.value,
            "APPLY_METHOD": each.method,
            "LEVEL": each.level,
            "OBJECT_DATABASE": target.database if target.domain != "DATABASE" else None,
            "OBJECT_SCHEMA": target.schema if target.domain != "SCHEMA" else None,
            "OBJECT_NAME": _name(target),
            "DOMAIN": target.domain,
            "COLUMN_NAME": target.column,
        }


def _name(target: _Target) -> str:
    if target.item is not None:
        return target.item.name.name
    return target.schema or target.database


def _values(state: StateReader, target: _Target) -> Iterator[_Value]:
    """The nearest value of each tag: of a column before its table's, then the schema's, then the database's."""
    seen: set[ObjectName] = set()
    for value in _from_near_to_far(state, target):
        if value.tag not in seen:
            seen.add(value.tag)
            yield value


def _from_near_to_far(state: StateReader, target: _Target) -> Iterator[_Value]:
    item = target.item
    if item is not None and target.column is not None:
        yield from _classes(state, item, target.column)
        yield from _set(state, ParameterLevel.TABLE, item.id, target.column, "COLUMN", target)
    if item is not None:
        yield from _set(state, ParameterLevel.TABLE, item.id, None, "TABLE", target)
    schema = (
        state.whole_catalog.schema(SchemaName(target.database, target.schema)) if target.schema is not None else None
    )
    if schema is not None:
        yield from _set(state, ParameterLevel.SCHEMA, schema.id, None, "SCHEMA", target)
    database = state.whole_catalog.database(target.database)
    if database is not None:
        yield from _set(state, ParameterLevel.DATABASE, database.id, None, "DATABASE", target)


def _set(
    state: StateReader, level: ParameterLevel, id: str, column: str | None, domain: str, target: _Target
) -> Iterator[_Value]:
    for tagged in tags_on(state, level, id):
        known = state.catalog.by_id(tagged.tag_id) if tagged.column == column else None
        # Only names are looked up with the asker's eyes.
        tag = state.catalog.find(known.name, [TAG]) if known is not None else None
        if tag is not None and tag.id == tagged.tag_id:
            own = domain == target.domain or (domain == "TABLE" and target.domain in _TABLES)
            yield _Value(tag.name, tagged.value, domain, "MANUAL" if own else "INHERITED")


def _classes(state: StateReader, item: CatalogObject, column: str) -> Iterator[_Value]:
    kind = classes_of(state, item).get(column)
    if kind is not None and kind != NOT_PERSONAL:
        yield _Value(_SEMANTIC, kind, "COLUMN", "CLASSIFIED")
        yield _Value(_PRIVACY, CLASSES[kind].privacy.value, "COLUMN", "CLASSIFIED")


def _tag(run: Run, state: StateReader, name: str) -> ObjectName:
    parts = split_name(name)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "tag_name")
    full = run.object_name(parts)
    if full not in (_SEMANTIC, _PRIVACY) and state.catalog.find(full, [TAG]) is None:
        raise errors.not_found("Tag", name)
    return full


def _find_target(run: Run, state: StateReader, name: str, domain: str) -> _Target:
    parts, wanted = split_name(name), domain.upper()
    if parts is None:
        raise errors.invalid_value(name, "obj_name")
    if wanted == "DATABASE" and len(parts) == 1:
        if state.catalog.database(parts[0]) is None:
            raise errors.not_found("Database", name)
        return _Target(wanted, parts[0])
    if wanted == "SCHEMA" and len(parts) <= 2:
        full = run.schema_name(parts)
        if state.catalog.schema(full) is None:
            raise errors.not_found("Schema", name)
        return _Target(wanted, full.database, full.name)
    column = parts[-1] if wanted == "COLUMN" and len(parts) > 1 else None
    if (wanted not in _TABLES and column is None) or len(parts) > (3 if column is None else 4):
        raise errors.invalid_value(domain if wanted not in (*_TABLES, "COLUMN") else name, "obj_domain")
    item = _find(run, state, parts if column is None else parts[:-1])
    return _Target(wanted, item.name.database, item.name.schema, item, column)


def _find(run: Run, state: StateReader, parts: tuple[str, ...]) -> CatalogObject:
    full = run.object_name(parts)
    found = state.catalog.find(full, RELATIONS, run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    return found
