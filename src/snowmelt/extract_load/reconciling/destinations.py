"""What a destination holds, held against the table here that was sent to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from sqlalchemy import inspect

from snowmelt.extract_load.addresses import database_errors, engine_of
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.destinations.base import LoadStrategy
from snowmelt.extract_load.destinations.delta import delta_options
from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.kinds import NUMBERS, type_head
from snowmelt.extract_load.reconciling.comparing import compare
from snowmelt.extract_load.reconciling.model import (
    ComparedRow,
    ComparedTable,
    DayTotals,
    Key,
    Reconciliation,
    row_of,
    totals,
)
from snowmelt.extract_load.reconciling.sides import DatabaseSide, Side, TableSide
from snowmelt.extract_load.sources.postgres import PostgresExtractor
from snowmelt.extract_load.stores.opening import open_store

_TIMES = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ")
_ZONED = ("TIMESTAMP_LTZ", "TIMESTAMP_TZ")
_SAME_EVERYWHERE = (*NUMBERS, "VARCHAR", "TEXT", "STRING", "DATE")
"""Types whose values are the same text wherever they are read."""
_READABLE = ("postgres", "delta", "parquet", "csv")
_WHOLE = (LoadStrategy.OVERWRITE, LoadStrategy.MERGE)


def compared_destination(
    endpoint: Endpoint, flow: str, table: str, key: Sequence[str], fields: Sequence[tuple[str, Field]], load: str
) -> ComparedTable | None:
    """`fields`: columns that were sent, each with its name here. None where nothing can be read back, or where a
    destination has rows that nothing identifies beside those that were sent."""
    strategy = LoadStrategy(load)
    if endpoint.kind not in _READABLE or not (key or strategy in _WHOLE):
        return None
    types = {field.name: type_head(field.type) for _, field in fields}
    day = next((name for name, kind in types.items() if kind in _TIMES), None)
    return ComparedTable(
        flow=flow, table=table, key=tuple(key), day=day, zoned=day is not None and types[day] in _ZONED,
        sums=tuple(name for name, kind in types.items() if kind in NUMBERS), complete=strategy in _WHOLE,
        called={field.name: here for here, field in fields if field.name != here},
    )  # fmt: skip


def compare_destination(
    endpoint: Endpoint, target: str, compared: ComparedTable, fields: Sequence[tuple[str, Field]],
    connection: SqlConnection,
) -> Reconciliation:  # fmt: skip
    """Counts and sums by day; where a day differs, the rows by their keys, if keys are the same text everywhere."""
    types = {field.name: type_head(field.type) for _, field in fields}
    here, there = TableSide(compared, connection), _side(endpoint, target, compared)
    if compared.key and all(types.get(name) in _SAME_EVERYWHERE for name in compared.key):
        return compare(here, there)
    return _of_days(here, there)


def _of_days(here: Side, there: Side) -> Reconciliation:
    """Without keys a day differs as a whole."""
    keyless = replace(here.compared, key=())
    found = compare(_Totals(keyless, here.totals()), _Totals(keyless, there.totals()))
    found.differences = {(day,): "different" for day in found.days}
    return found


class _Totals(Side):
    """Counts and sums that are known."""

    def __init__(self, compared: ComparedTable, known: dict[str, DayTotals]) -> None:
        super().__init__(compared)
        self._known = known

    def totals(self) -> dict[str, DayTotals]:
        return self._known

    def rows(self, days: Sequence[str] | None) -> dict[Key, ComparedRow]:
        return {}


def _side(endpoint: Endpoint, target: str, compared: ComparedTable) -> Side:
    if endpoint.kind != "postgres":
        return _FilesSide(endpoint, target, compared)
    engine = engine_of(endpoint.where(), "snowmelt pipeline")
    schema, _, name = target.rpartition(".")
    with database_errors(engine):
        there = inspect(engine).has_table(name, schema=schema or None)
    return DatabaseSide(compared, PostgresExtractor(endpoint.where(), target)) if there else _Totals(compared, {})


class _FilesSide(Side):
    """Delta tables and files, of which the compared columns are read."""

    def __init__(self, endpoint: Endpoint, target: str, compared: ComparedTable) -> None:
        super().__init__(compared)
        self._endpoint, self._target = endpoint, target

    def totals(self) -> dict[str, DayTotals]:
        return totals((row for _, row in self._each()), len(self.compared.sums))

    def rows(self, days: Sequence[str] | None) -> dict[Key, ComparedRow]:
        return {key: row for key, row in self._each() if days is None or row.day in days}

    def _each(self) -> Iterator[tuple[Key, ComparedRow]]:
        for part in self._tables():
            for record in part.to_pylist():
                yield row_of(self.compared, record, hash_keys=False)

    def _tables(self) -> Iterator[pa.Table]:
        columns = list(dict.fromkeys(self.compared.columns))
        if self._endpoint.kind == "delta":
            yield from self._delta(columns)
            return
        with closing(open_store(self._endpoint.where(), self._endpoint.settings())) as store:
            for file in store.files(f"{self._target}/*.{self._endpoint.kind}"):
                with store.local(file.name) as path:
                    yield _read(path, self._endpoint.kind, columns)

    def _delta(self, columns: list[str]) -> Iterator[pa.Table]:
        where = self._endpoint.where()
        local = "://" not in where
        address = str(Path(where).absolute() / self._target) if local else f"{where.rstrip('/')}/{self._target}"
        try:
            table = DeltaTable(address, storage_options=delta_options(self._endpoint.settings()))
        except TableNotFoundError:
            return
        yield table.to_pyarrow_table(columns=columns or None)


def _read(path: Path, kind: str, columns: list[str]) -> Any:
    """Of CSV all as text: a number with zeros before it is no number."""
    if kind == "parquet":
        return pa.parquet.read_table(path, columns=columns or None)
    names = pa.csv.read_csv(path).column_names
    options = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return pa.csv.read_csv(path, convert_options=options).select(columns or names)
