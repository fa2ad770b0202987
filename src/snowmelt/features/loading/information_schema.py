"""STAGES, FILE_FORMATS and LOAD_HISTORY of INFORMATION_SCHEMA."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from snowmelt.features.loading.definitions import FileFormatDefinition
from snowmelt.runtime import histories
from snowmelt.runtime.information_schema.rows import named
from snowmelt.runtime.kinds import InformationView
from snowmelt.runtime.metadata import formats
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row
from snowmelt.state.model import Database, ObjectKind, StageDefinition
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
            **named(item, "STAGE"),
            "STAGE_URL": definition.url,
            "STAGE_TYPE": "Internal Named" if definition.url is None else "External Named",
        }


def _file_formats(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, [ObjectKind("FILE FORMAT")], database.name):
        definition = item.definition
        assert isinstance(definition, FileFormatDefinition)
        values = {option.name: value for option, value in formats.values(definition.type, definition.options)}
        yield {
            **named(item, "FILE_FORMAT"),
            "FILE_FORMAT_TYPE": definition.type,
            "SKIP_HEADER": values.get("SKIP_HEADER"),
            **{name: formats.shown(values[name]) for name in _SHOWN_OPTIONS if name in values},
        }


def _load_history(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    since = run.now - timedelta(days=histories.LOAD_DAYS)
    for item in objects(run, state, [ObjectKind.TABLE], database.name):
        yield from histories.load_history(run, state, item, state.loads.history(item.id, since=since))


VIEWS = (
    InformationView(
        name="FILE_FORMATS",
        columns=(
            "FILE_FORMAT_CATALOG, FILE_FORMAT_SCHEMA, FILE_FORMAT_NAME, FILE_FORMAT_OWNER, FILE_FORMAT_TYPE, "
            "RECORD_DELIMITER, FIELD_DELIMITER, SKIP_HEADER:n, DATE_FORMAT, TIME_FORMAT, TIMESTAMP_FORMAT, "
            "BINARY_FORMAT, ESCAPE, ESCAPE_UNENCLOSED_FIELD, TRIM_SPACE, FIELD_OPTIONALLY_ENCLOSED_BY, NULL_IF, "
            "COMPRESSION, ERROR_ON_COLUMN_COUNT_MISMATCH, CREATED:ts, LAST_ALTERED:ts, COMMENT"
        ),
        rows=_file_formats,
    ),
    InformationView(
        name="LOAD_HISTORY",
        columns=(
            "SCHEMA_NAME, FILE_NAME, TABLE_NAME, LAST_LOAD_TIME:ts, STATUS, ROW_COUNT:n, ROW_PARSED:n, "
            "FIRST_ERROR_MESSAGE, FIRST_ERROR_LINE_NUMBER:n, FIRST_ERROR_CHARACTER_POSITION:n, "
            "FIRST_ERROR_COL_NAME, ERROR_COUNT:n, ERROR_LIMIT:n"
        ),
        rows=_load_history,
    ),
    InformationView(
        name="STAGES",
        columns=(
            "STAGE_CATALOG, STAGE_SCHEMA, STAGE_NAME, STAGE_URL, STAGE_REGION, STAGE_TYPE, STAGE_OWNER, COMMENT, "
            "CREATED:ts, LAST_ALTERED:ts"
        ),
        rows=_stages,
    ),
)
