"""Classes of personal data as Snowflake's tags: SNOWFLAKE.CORE.SEMANTIC_CATEGORY and PRIVACY_CATEGORY of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.govern.pii.classes import CLASSES
from snowmelt.service.data_products.pii import NOT_PERSONAL, classes_of
from snowmelt.service.metadata.columns import Row, columns
from snowmelt.state.model import RELATIONS, CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run
    from snowmelt.service.table_functions import Arguments as Named

_DATABASE, _SCHEMA = "SNOWFLAKE", "CORE"
_SEMANTIC, _PRIVACY = "SEMANTIC_CATEGORY", "PRIVACY_CATEGORY"
_TABLES = frozenset({"TABLE", "VIEW"})
REFERENCE_ARGUMENTS = ("OBJECT_NAME", "OBJECT_DOMAIN")
REFERENCE_COLUMNS = columns(
    "TAG_DATABASE, TAG_SCHEMA, TAG_NAME, TAG_VALUE, APPLY_METHOD, LEVEL, OBJECT_DATABASE, OBJECT_SCHEMA, OBJECT_NAME, "
    "DOMAIN, COLUMN_NAME"
)


def get_tag(run: Run, state: StateReader, arguments: Sequence[Any]) -> str | None:
    """SYSTEM$GET_TAG('<tag>', '<table>.<column>', 'COLUMN'): NULL for a column that has no such tag."""
    tag = _tag(str(arguments[0]))
    parts = split_name(str(arguments[1]))
    if str(arguments[2]).upper() != "COLUMN":
        # Nothing but columns has one of the two tags that there are.
        return None
    if parts is None or not 2 <= len(parts) <= 4:
        raise errors.invalid_value(str(arguments[1]), "obj_name")
    item = _find(run, state, parts[:-1])
    return dict(_tags(state, item)).get((tag, parts[-1]))


def references(run: Run, state: StateReader, arguments: Named) -> list[Row]:
    """TAG_REFERENCES_ALL_COLUMNS('<table>', 'TABLE')."""
    name, domain = arguments.text("OBJECT_NAME") or "", (arguments.text("OBJECT_DOMAIN") or "").upper()
    if domain not in _TABLES:
        raise errors.invalid_value(domain, "object_domain")
    parts = split_name(name)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "object_name")
    item = _find(run, state, parts)
    return [
        {
            "TAG_DATABASE": _DATABASE,
            "TAG_SCHEMA": _SCHEMA,
            "TAG_NAME": tag,
            "TAG_VALUE": value,
            "APPLY_METHOD": "CLASSIFIED",
            "LEVEL": "COLUMN",
            "OBJECT_DATABASE": item.name.database,
            "OBJECT_SCHEMA": item.name.schema,
            "OBJECT_NAME": item.name.name,
            "DOMAIN": "COLUMN",
            "COLUMN_NAME": column,
        }
        for (tag, column), value in _tags(state, item)
    ]


def _tags(state: StateReader, item: CatalogObject) -> Iterator[tuple[tuple[str, str], str]]:
    for column, kind in classes_of(state, item).items():
        if kind != NOT_PERSONAL:
            yield (_SEMANTIC, column), kind
            yield (_PRIVACY, column), CLASSES[kind].privacy.value


def _tag(name: str) -> str:
    parts = split_name(name)
    known = parts is not None and parts[:-1] == (_DATABASE, _SCHEMA) and parts[-1] in (_SEMANTIC, _PRIVACY)
    if parts is None or not known:
        raise errors.not_found("Tag", name)
    return parts[-1]


def _find(run: Run, state: StateReader, parts: tuple[str, ...]) -> CatalogObject:
    full = run.object_name(parts)
    found = state.catalog.find(full, RELATIONS, run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    return found
