"""STAGES, FILE_FORMATS, LOAD_HISTORY, and SEQUENCES."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.runtime import histories
from snowmelt.runtime.information_schema.rows import Rows
from snowmelt.runtime.metadata import formats
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.metadata.schema_objects import next_value
from snowmelt.state.model import (
    CatalogObject,
    Database,
    FileFormatDefinition,
    ObjectKind,
    SequenceDefinition,
    StageDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_SHOWN_OPTIONS = (
    "RECORD_DELIMITER", "FIELD_DELIMITER", "DATE_FORMAT", "TIME_FORMAT", "TIMESTAMP_FORMAT", "BINARY_FORMAT", "ESCAPE",
    "ESCAPE_UNENCLOSED_FIELD", "TRIM_SPACE", "FIELD_OPTIONALLY_ENCLOSED_BY", "NULL_IF", "COMPRESSION",
    "ERROR_ON_COLUMN_COUNT_MISMATCH",
)  # fmt: skip


def _stages(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, [ObjectKind("STAGE")], database.name):
        definition = item.definition
        assert isinstance(definition, StageDefinition)
        yield {
            **_named(item, "STAGE"),
            "STAGE_URL": definition.url,
            "STAGE_TYPE": "Internal Named" if definition.url is None else "External Named",
        }


def _file_formats(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, [ObjectKind("FILE FORMAT")], database.name):
        definition = item.definition
        assert isinstance(definition, FileFormatDefinition)
        values = {option.name: value for option, value in formats.values(definition.type, definition.options)}
        yield {
            **_named(item, "FILE_FORMAT"),
            "FILE_FORMAT_TYPE": definition.type,
            "SKIP_HEADER": values.get("SKIP_HEADER"),
            **{name: formats.shown(values[name]) for name in _SHOWN_OPTIONS if name in values},
        }


def _sequences(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, [ObjectKind.SEQUENCE], database.name):
        definition = item.definition
        assert isinstance(definition, SequenceDefinition)
        yield {
            **_named(item, "SEQUENCE"),
            "DATA_TYPE": "NUMBER",
            "NUMERIC_PRECISION": 38,
            "NUMERIC_PRECISION_RADIX": 10,
            "NUMERIC_SCALE": 0,
            "START_VALUE": str(definition.start),
            "NEXT_VALUE": str(next_value(state, item)),
            "INCREMENT": str(definition.step),
            "CYCLE_OPTION": "NO",
            "ORDERED": long_yes(definition.ordered),
        }


def _named(item: CatalogObject, prefix: str) -> dict[str, Any]:
    return {
        f"{prefix}_CATALOG": item.name.database,
        f"{prefix}_SCHEMA": item.name.schema,
        f"{prefix}_NAME": item.name.name,
        f"{prefix}_OWNER": item.owner,
        "CREATED": item.created_on,
        "LAST_ALTERED": item.altered_on,
        "COMMENT": item.comment,
    }


def _load_history(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    since = run.now - timedelta(days=histories.LOAD_DAYS)
    for item in objects(run, state, [ObjectKind.TABLE], database.name):
        yield from histories.load_history(state, item, state.loads.history(item.id, since=since))


ROWS: dict[str, Rows] = {
    "STAGES": _stages,
    "FILE_FORMATS": _file_formats,
    "SEQUENCES": _sequences,
    "LOAD_HISTORY": _load_history,
}
