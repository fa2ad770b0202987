"""The columns that a file has, with types that hold all of its values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from snowmelt.core import types
from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading.csv_records import CsvLayout
from snowmelt.features.loading.file_formats import CsvFormat
from snowmelt.features.loading.records import SourceField
from snowmelt.features.loading.requests import CopyRequest
from snowmelt.features.loading.stage_folders import Digests, StagedFile
from snowmelt.features.loading.streams import opened
from snowmelt.runtime.new_columns import common_type

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_TYPED = ("PARQUET", "AVRO")
_SHAPES: tuple[tuple[re.Pattern[str], DataType], ...] = (
    (re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z"), types.number()),
    (re.compile(r"[+-]?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+\Z"), types.FLOAT),
    (re.compile(r"(true|false)\Z", re.IGNORECASE), types.BOOLEAN),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z"), types.DATE),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?\Z"), types.TIMESTAMP_NTZ),
    (re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?\Z"), types.TIME),
)
_TIMES = (Kind.DATE, Kind.TIMESTAMP_NTZ, Kind.TIME)


def columns_of(run: Run, request: CopyRequest, file: StagedFile) -> dict[str, DataType]:
    """The columns of a file by name. A column of a JSON file with nothing but nulls is left out: it has no type."""
    if request.format.type in _TYPED:
        fields = _fields(run, request, file)
        return {entry.name: types.VARCHAR if entry.type.kind is Kind.NULL else entry.type for entry in fields}
    if isinstance(request.format, CsvFormat):
        return _of_csv(run, request, request.format, file)
    return _of_json(run, request, file)


def _fields(run: Run, request: CopyRequest, file: StagedFile) -> tuple[SourceField, ...]:
    with opened(request.stage, file, request.format, None, run.account.services[Digests]) as source:
        return source.records.fields


def _of_csv(run: Run, request: CopyRequest, format_: CsvFormat, file: StagedFile) -> dict[str, DataType]:
    names: list[str] = []

    def header(found: list[str]) -> list[int | None]:
        names.extend(found)
        return [None]

    layout = CsvLayout(format_, 1, False, request.names, header=header)
    with opened(request.stage, file, format_, layout, run.account.services[Digests]) as source:
        next(source.records.segments(), None)
    whole = replace(layout, fields=len(names), header=lambda found: list(range(len(names))))
    texts: list[DataType | None] = [None] * len(names)
    with opened(request.stage, file, format_, whole, run.account.services[Digests]) as source:
        for segment in source.records.segments():
            for index in range(len(names)):
                values = segment.data.column(index).to_pylist()
                texts[index] = _of_texts(texts[index], values, format_)
    return {name: type_ or types.VARCHAR for name, type_ in zip(names, texts, strict=True)}


def _of_texts(known: DataType | None, values: Iterable[Any], format_: CsvFormat) -> DataType | None:
    for value in values:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if known is not None and known.kind is Kind.VARCHAR:
            return known
        if text is None or text == "" or text in format_.null_if:
            continue
        known = common_type(known, _of_text(text, format_))
    return known


def _of_text(text: str, format_: CsvFormat) -> DataType:
    for shape, type_ in _SHAPES:
        if shape.match(text):
            if type_.kind is Kind.NUMBER:
                return _number(text)
            # Texts in a format of the file's own are read by that format, which is not asked here.
            return types.VARCHAR if type_.kind in _TIMES and _has_formats(format_) else type_
    return types.VARCHAR


def _has_formats(format_: CsvFormat) -> bool:
    return any(f"{kind}_INPUT_FORMAT" in format_.parameters for kind in ("DATE", "TIME", "TIMESTAMP"))


def _number(text: str) -> DataType:
    whole, _, fraction = text.lstrip("+-").partition(".")
    if len(whole) + len(fraction) > types.MAX_PRECISION:
        return types.FLOAT
    return types.number(types.MAX_PRECISION, len(fraction))


def _of_json(run: Run, request: CopyRequest, file: StagedFile) -> dict[str, DataType]:
    found: dict[str, DataType] = {}
    with opened(request.stage, file, request.format, None, run.account.services[Digests]) as source:
        for segment in source.records.segments():
            for text in segment.data.column(0).to_pylist():
                document = json.loads(text, parse_float=Decimal)
                if isinstance(document, dict):
                    for name, value in document.items():
                        if value is not None:
                            found[name] = common_type(found.get(name), _of_value(value))
    return found


def _of_value(value: Any) -> DataType:
    match value:
        case bool():
            return types.BOOLEAN
        case int() | Decimal():
            plain = f"{value:f}" if isinstance(value, Decimal) else str(value)
            return _number(plain)
        case str():
            return types.VARCHAR
        case dict():
            return types.OBJECT
        case list():
            return types.ARRAY
    return types.VARIANT
