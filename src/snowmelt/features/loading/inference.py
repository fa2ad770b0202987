"""INFER_SCHEMA: the columns that files say they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.compression import UnreadableError
from snowmelt.features.loading.file_formats import effective, named
from snowmelt.features.loading.stage_folders import Digests
from snowmelt.features.loading.stage_statements import written_location
from snowmelt.features.loading.streams import opened
from snowmelt.runtime.metadata.columns import Row, columns

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns("COLUMN_NAME, TYPE, NULLABLE:bool, EXPRESSION, FILENAMES, ORDER_ID:n")
_TYPED = ("PARQUET", "AVRO")
_WORDS = {Kind.VARCHAR: "TEXT", Kind.FLOAT: "REAL", Kind.NULL: "TEXT"}


def inferred(run: Run, written: str, format_name: str | None, *, ignore_case: bool = False) -> list[Row]:
    """One row for each column of the files below a path. Only files that carry their types say what they have."""
    location = written_location(written)
    if location is None:
        raise errors.not_found("Stage", written)
    stage = stage_folders.resolve(run, location)
    format_ = named(run, format_name) if format_name is not None else effective(run, None, stage.format)
    if format_.type not in _TYPED:
        raise errors.unsupported(f"INFER_SCHEMA of {format_.type} files", hint="Supported: PARQUET and AVRO.")
    found: dict[str, tuple[DataType, list[str]]] = {}
    for file in stage.all_files():
        try:
            with opened(stage, file, format_, None, run.account.services[Digests]) as source:
                for field in source.records.fields:
                    name = field.name.upper() if ignore_case else field.name
                    found.setdefault(name, (field.type, []))[1].append(stage.outside + file.path)
        except UnreadableError as unreadable:
            raise unreadable.error from None
    return [_row(index, name, *what) for index, (name, what) in enumerate(found.items())]


def _row(index: int, name: str, type_: DataType, files: list[str]) -> Row:
    word = _WORDS.get(type_.kind) or (str(type_) if type_.kind is Kind.NUMBER else str(type_.kind))
    return {
        "COLUMN_NAME": name,
        "TYPE": word,
        "NULLABLE": True,
        "EXPRESSION": f"$1:{quote(name)}::{word}",
        "FILENAMES": ", ".join(files),
        "ORDER_ID": index,
    }
