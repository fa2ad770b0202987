"""Rows of a person at destinations: counted, and taken away, by their keys.

What a destination keeps beside its rows (backups, logs of a database) is its owner's. Versions and files that Snowmelt
itself wrote there go as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from sqlalchemy import ColumnElement, MetaData, Table, Text, and_, cast, delete, func, inspect, literal, or_, select

from snowmelt.extract_load.addresses import database_errors, engine_of
from snowmelt.extract_load.destinations.claims import Claim
from snowmelt.extract_load.destinations.delta import delta_options
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.stores.base import FileStore
from snowmelt.extract_load.stores.opening import open_store

_ENTRY = re.compile(r"_delta_log/(\d{20})\.(?:json|checkpoint\.parquet)$")
Keys = Sequence[Sequence[str | None]]
"""Values of the key's columns, as text, of each row."""


class OutOfReachError(Exception):
    """Nothing can be removed there from here; says who has to."""


def forget_rows(endpoint: Endpoint, target: str, flow: str, key: Sequence[str], keys: Keys, *, remove: bool) -> int:
    """How many rows of a destination's table have one of the keys; with `remove` they are taken away.

    Rows that a run writes meanwhile are seen by the next call. `flow` is the one that writes there.
    """
    if not keys:
        return 0
    if not key:
        raise OutOfReachError(f"{target} has no key to find the rows by")
    match endpoint.kind:
        case "postgres":
            return _postgres(endpoint, target, key, keys, remove=remove)
        case "delta":
            return _delta(endpoint, target, key, keys, remove=remove)
        case "parquet" | "csv":
            return _files(endpoint, target, flow, key, keys, remove=remove)
    raise OutOfReachError(f"{endpoint.kind} has no request that removes a record: ask its owner to do it")


def _postgres(endpoint: Endpoint, target: str, key: Sequence[str], keys: Keys, *, remove: bool) -> int:
    engine = engine_of(endpoint.where(), "snowmelt forget")
    schema, _, name = target.rpartition(".")
    try:
        with database_errors(engine), engine.begin() as connection:
            if not inspect(connection).has_table(name, schema=schema or None):
                return 0
            table = Table(name, MetaData(), schema=schema or None, autoload_with=connection)
            same = or_(*(and_(*_equal(table, key, values)) for values in keys))
            found = connection.execute(select(func.count()).select_from(table).where(same)).scalar_one()
            if found and remove:
                connection.execute(delete(table).where(same))
            return int(found)
    finally:
        engine.dispose()


def _equal(table: Table, key: Sequence[str], values: Sequence[str | None]) -> list[ColumnElement[bool]]:
    return [
        table.c[name].is_(None) if value is None else table.c[name] == cast(literal(value, Text), table.c[name].type)
        for name, value in zip(key, values, strict=True)
    ]


# -- Delta ------------------------------------------------------------------------------------------------------------


def _delta(endpoint: Endpoint, target: str, key: Sequence[str], keys: Keys, *, remove: bool) -> int:
    where = endpoint.where()
    local = "://" not in where
    address = str(Path(where).absolute() / target) if local else f"{where.rstrip('/')}/{target}"
    options = delta_options(endpoint.settings())
    try:
        table = DeltaTable(address, storage_options=options)
    except TableNotFoundError:
        return 0
    rows = table.to_pyarrow_table()
    found = pc.sum(_matches(rows, key, keys)).as_py() or 0
    if remove:
        if found:
            table.delete(" OR ".join(_predicate(key, values) for values in keys))
        _forget_versions(table, open_store(where, endpoint.settings()), target)
    return int(found)


def _predicate(key: Sequence[str], values: Sequence[str | None]) -> str:
    parts = []
    for name, value in zip(key, values, strict=True):
        column = '"' + name.replace('"', '""') + '"'
        text = "" if value is None else value.replace("'", "''")
        parts.append(f"{column} IS NULL" if value is None else f"CAST({column} AS VARCHAR) = '{text}'")
    return f"({' AND '.join(parts)})"


def _forget_versions(table: DeltaTable, store: FileStore, target: str) -> None:
    """Files of earlier versions, and the entries of the log that tell their smallest and greatest values."""
    try:
        table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        table.create_checkpoint()
        for file in store.files(f"{target}/_delta_log/*"):
            entry = _ENTRY.search(file.name)
            if entry is not None and int(entry[1]) < table.version():
                store.remove(file.name)
    finally:
        store.close()


# -- files ------------------------------------------------------------------------------------------------------------


def _files(endpoint: Endpoint, target: str, flow: str, key: Sequence[str], keys: Keys, *, remove: bool) -> int:
    settings = endpoint.settings()
    store = open_store(endpoint.where(), settings)
    claim = Claim(lambda: open_store(endpoint.where(), settings), f"{target}/_snowmelt/{flow}.lock", flow)
    found = 0
    try:
        if remove:
            claim.hold(store)
        for file in store.files(f"{target}/*.{endpoint.kind}"):
            with store.local(file.name) as path:
                rows = pa.parquet.read_table(path) if endpoint.kind == "parquet" else pa.csv.read_csv(path)
            matching = _matches(rows, key, keys)
            count = pc.sum(matching).as_py() or 0
            found += count
            if count and remove:
                _put(store, rows.filter(pc.invert(matching)), file.name, endpoint.kind)
    finally:
        claim.release(store)
        store.close()
    return found


def _put(store: FileStore, rows: pa.Table, name: str, kind: str) -> None:
    with TemporaryDirectory(prefix="snowmelt-") as folder:
        draft = Path(folder) / "draft"
        if kind == "parquet":
            pa.parquet.write_table(rows, draft, compression="zstd")
        else:
            pa.csv.write_csv(rows, draft)
        store.put(draft, name)


def _matches(rows: pa.Table, key: Sequence[str], keys: Keys) -> pa.Array:
    wanted = {json.dumps(list(values)) for values in keys}
    columns = [rows.column(name).to_pylist() if name in rows.column_names else [None] * len(rows) for name in key]
    found = [json.dumps([None if value is None else str(value) for value in row]) for row in zip(*columns, strict=True)]
    return pa.array([each in wanted for each in found], pa.bool_())
