"""The rows of a table at a snapshot, as Arrow: several connections take its chunks one after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from snowmelt.ingest.cdc.quick.snapshot import OpenSnapshot, StoppedError, address
from snowmelt.ingest.cdc.quick.tables import NotQuickError, QuickTable
from snowmelt.ingest.cdc.sources import CapturedSource

if TYPE_CHECKING:
    from psycopg import sql

try:
    import adbc_driver_postgresql.dbapi as adbc
except ModuleNotFoundError:  # An extra: snowmelt[cdc].
    adbc = None
with suppress(ModuleNotFoundError):  # The same extra: nothing here is called without it.
    import psycopg

_PART_BYTES = 48 * 1024 * 1024
_PART_ROWS = 400_000
"""What a reader gathers before it is handed over."""


def check_driver() -> None:
    if adbc is None:
        raise NotQuickError("adbc_driver_postgresql is not installed")


Take = Callable[[pa.Table], None]
"""Is given rows by several threads."""


def read_table(
    source: CapturedSource,
    snapshot: OpenSnapshot,
    table: QuickTable,
    *,
    documents: bool,
    readers: int,
    take: Take,
    stopping: threading.Event,
) -> pa.Table:
    """Gives all rows but the last few to `take`, and returns those when the others are taken.

    Raises what reading or taking raised first, `StoppedError` among it.
    """
    todo: queue.SimpleQueue[sql.Composable] = queue.SimpleQueue()
    for chunk in table.chunks:
        todo.put(chunk)
    reading = _Reading(source, snapshot, table, documents, take, stopping, todo)
    count = min(readers, len(table.chunks))
    threads = [threading.Thread(target=reading.run, name=f"snapshot-{index}", daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if reading.failures:
        raise reading.failures[0]
    return pa.concat_tables(reading.rest)


class _Reading:
    def __init__(
        self,
        source: CapturedSource,
        snapshot: OpenSnapshot,
        table: QuickTable,
        documents: bool,
        take: Take,
        stopping: threading.Event,
        todo: queue.SimpleQueue[sql.Composable],
    ) -> None:
        self._source = source
        self._snapshot = snapshot
        self._table = table
        self._documents = documents
        self._take = take
        self._stopping = stopping
        self._todo = todo
        self.rest: list[pa.Table] = []
        self.failures: list[BaseException] = []

    def run(self) -> None:
        """One thread with one connection."""
        gathered = _Gathered()
        try:
            with closing(adbc.connect(address(self._source))) as connection:
                self._join(connection)
                for batch in self._batches(connection):
                    full = gathered.add(batch)
                    if full is not None:
                        self._take(full)
            self.rest += gathered.tables()
        except (adbc.Error, OSError, pa.ArrowException) as error:
            self.failures.append(psycopg.OperationalError(str(error)))
        except BaseException as error:
            self.failures.append(error)

    def _join(self, connection: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(f"SET TRANSACTION SNAPSHOT '{self._snapshot.name}'")
            for setting in self._snapshot.settings:
                cursor.execute(setting)

    def _batches(self, connection: Any) -> Iterator[pa.RecordBatch]:
        """At least one, which may be empty, so that the columns are known."""
        while not self.failures:
            try:
                chunk = self._todo.get_nowait()
            except queue.Empty:
                return
            query = self._table.query(chunk, documents=self._documents).as_string(None)
            with closing(connection.cursor()) as cursor:
                cursor.execute(query)
                with cursor.fetch_record_batch() as reader:
                    yield pa.RecordBatch.from_pylist([], schema=reader.schema)
                    for batch in reader:
                        if self._stopping.is_set():
                            raise StoppedError
                        yield batch


class _Gathered:
    """Batches until they are worth a file."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> pa.Table | None:
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows < _PART_ROWS and self._bytes < _PART_BYTES:
            return None
        full = pa.Table.from_batches(self._batches)
        # The schema stays known when nothing follows.
        self._batches, self._rows, self._bytes = [batch.slice(0, 0)], 0, 0
        return full

    def tables(self) -> list[pa.Table]:
        """What is left; nothing of a reader that came too late for any chunk."""
        return [pa.Table.from_batches(self._batches)] if self._batches else []
