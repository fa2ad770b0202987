"""Extractors: records of a source in batches, each with the place behind it, from which the next run goes on."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from sqlalchemy import Column, Connection, MetaData, Select, Table, func, select, tuple_

from snowmelt.core import errors
from snowmelt.pipeline.addresses import engine_of

Record = dict[str, Any]
BATCH_ROWS = 10_000
_READERS = {
    ".csv": pa.csv.read_csv, ".json": pa.json.read_json, ".jsonl": pa.json.read_json, ".ndjson": pa.json.read_json,
    ".parquet": pa.parquet.read_table,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Batch:
    records: Sequence[Record]
    place: str
    """Behind the last record. It commits with the records: whoever starts anew is given the newest one."""
    origin: str
    """Where they come from, for people: a file, a table."""


class Extractor(ABC):
    """Gives the records of one table, topic or kind of file."""

    @abstractmethod
    def extract(self, after: str | None) -> Iterator[Batch]:
        """All that is behind a place, or everything for None, in an order that is the same each time."""


class FilesExtractor(Extractor):
    """CSV, JSON lines and Parquet files of a folder, each once; a file whose content changes comes again."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self.folder = folder
        self.pattern = pattern

    def extract(self, after: str | None) -> Iterator[Batch]:
        done: dict[str, str] = json.loads(after) if after is not None else {}
        for path in sorted(self.folder.glob(self.pattern)):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            name = path.relative_to(self.folder).as_posix()
            if done.get(name) == digest:
                continue
            done[name] = digest
            yield Batch(_records(path), json.dumps(done, sort_keys=True), name)


def _records(path: Path) -> list[Record]:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise errors.configuration(f"{path} is none of {', '.join(_READERS)}.")
    try:
        table: pa.Table = reader(path)
    except (OSError, pa.ArrowException) as error:
        raise errors.configuration(f"{path} can't be read: {error}.") from None
    return [plain(record) for record in table.to_pylist()]


class PostgresExtractor(Extractor):
    """A table in the order of its change column and key: what is behind the last pair is new.

    Without a change column the whole table comes, whenever anything in it is another. Rows that are committed later
    with an earlier value of the change column are not seen: where that happens, capture the log.
    """

    def __init__(
        self, address: str, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:  # fmt: skip
        self.address, self.table, self.key = address, table, tuple(key)
        self.change_column, self.batch_rows = change_column, batch_rows

    def extract(self, after: str | None) -> Iterator[Batch]:
        schema, _, name = self.table.rpartition(".")
        engine = engine_of(self.address, "snowmelt pipeline")
        table = Table(name, MetaData(), schema=schema or None, autoload_with=engine)
        # Whatever else happens in the source meanwhile, one extract sees one state of it.
        options = {"isolation_level": "REPEATABLE READ", "stream_results": True}
        with engine.connect().execution_options(**options) as connection:
            if self.change_column is not None:
                yield from self._changed(connection, table, self.change_column, after)
            else:
                yield from self._whole(connection, table, after)

    def _changed(self, connection: Connection, table: Table, change: str, after: str | None) -> Iterator[Batch]:
        self._refuse_unplaced(connection, table, change)
        columns = [table.c[name] for name in (change, *self.key)]
        query = select(table).order_by(*columns)
        if after is not None:
            values = zip(columns, json.loads(after), strict=True)
            query = query.where(tuple_(*columns) > tuple_(*[_read(column, value) for column, value in values]))
        batches = self._partitions(connection, query)
        for rows in batches if self.key else _undivided(batches, change):
            yield Batch(rows, json.dumps([rows[-1][column.name] for column in columns]), self.table)

    def _refuse_unplaced(self, connection: Connection, table: Table, change: str) -> None:
        """Rows without a place in the order would never come, and nobody would know."""
        unplaced = connection.execute(select(func.count()).where(table.c[change].is_(None))).scalar_one()
        if unplaced:
            raise errors.configuration(
                f"{unplaced} rows of {self.table} have no {change}.",
                hint="Fill it in, leave change_column out of the configuration, or capture the log.",
            )

    def _whole(self, connection: Connection, table: Table, after: str | None) -> Iterator[Batch]:
        """The place is what the table holds, and how many batches of that were given."""
        query = select(table).order_by(*[table.c[name] for name in self.key])
        digest = hashlib.sha256()
        for rows in self._partitions(connection, query):
            digest.update(json.dumps(rows, sort_keys=True).encode())
        known, _, given = (after or "").partition(":")
        skip = int(given) if known == digest.hexdigest() else 0
        for number, rows in enumerate(self._partitions(connection, query), start=1):
            if number > skip:
                yield Batch(rows, f"{digest.hexdigest()}:{number}", self.table)

    def _partitions(self, connection: Connection, query: Select[Any]) -> Iterator[list[Record]]:
        for rows in connection.execute(query).mappings().partitions(self.batch_rows):
            yield [plain(dict(row)) for row in rows]


def _undivided(batches: Iterator[list[Record]], column: str) -> Iterator[list[Record]]:
    """Batches that end where the column's value changes: without a key, nothing else tells rows of one value apart."""
    held: list[Record] = []
    for rows in batches:
        held += rows
        whole = [row for row in held if row[column] != held[-1][column]]
        if whole:
            held = held[len(whole) :]
            yield whole
    if held:
        yield held


def _read(column: Column[Any], value: Any) -> Any:
    """A value of a place as the source's own type."""
    kind = column.type.python_type
    if issubclass(kind, dt.datetime | dt.date):
        return kind.fromisoformat(value)
    return kind(value) if isinstance(value, str) and kind is not str else value


def plain(value: Any) -> Any:
    """A value as JSON holds it: nothing is lost, times are ISO 8601 and exact numbers are text."""
    match value:
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes() | memoryview():
            return bytes(value).hex()
        case None | bool() | int() | float() | str():
            return value
    return str(value)
