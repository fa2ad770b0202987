"""Running queries in this process, with DuckDB.

One database in memory, with nothing in it. Each query has a connection of its own, one thread, a limit of memory and of
time, and reads files of the storage root only. It never writes. Whatever fails here is no error of the user's: the
query goes to Spark, which gives the result or the error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import structlog
from sqlglot import exp

from snowmelt.core.lazy import lazy_imports
from snowmelt.engine.model import TableFiles
from snowmelt.engine.quick.queries import Queries, Query
from snowmelt.engine.quick.sources import relations
from snowmelt.engine.quick.types import NotQuick

with lazy_imports():
    import duckdb

_log = structlog.get_logger(__name__)

_LOOK_SECONDS = 0.05
_CONFIGURATION: dict[str, str | int | float | list[str]] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
}
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    # These two together take a join with a count over no rows for empty (DuckDB 2.0).
    "SET disabled_optimizers = 'projection_pullup, statistics_propagation'",
    "SET arrow_large_buffer_size = false",
    "SET produce_arrow_string_view = false",
    "SET enable_progress_bar = false",
)


@dataclass(slots=True)
class _Running:
    connection: duckdb.DuckDBPyConnection
    until: float
    late: bool = False


class QuickLane:
    """Safe to use from many threads."""

    def __init__(self, *, memory: str = "1GB", seconds: float = 5.0, root: str | None = None) -> None:
        """`root` is the only folder that may be read."""
        self._memory = memory
        self._seconds = seconds
        self._root = root
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._running: dict[int, _Running] = {}
        self._tags: dict[str, int] = {}
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()

    def run(
        self, tree: exp.Expr, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table], tag: str | None = None
    ) -> pa.Table:
        """The result, as Spark would give it. Raises NotQuick when that is for Spark to compute."""
        try:
            query, given = translated(tree, tables, inputs)
            with self._connection(tag) as running:
                found = self._fetch(running.connection, query.sql, given)
            return _as_spark(found, query)
        except (NotQuick, RecursionError, OSError) as error:
            # A query that is nested deeply, or a file that is gone.
            raise (error if isinstance(error, NotQuick) else NotQuick(type(error).__name__)) from None
        except duckdb.InterruptException:
            raise NotQuick("it was interrupted") from None
        except duckdb.Error as error:
            raise NotQuick(f"DuckDB: {type(error).__name__}") from None
        except Exception as error:
            # A mistake of the lane is not to fail a statement that Spark can run.
            _log.warning("quick_lane_failed", error=type(error).__name__)
            raise NotQuick(f"a failure: {type(error).__name__}") from error

    def cancel(self, tag: str) -> None:
        """Ends what runs under the tag."""
        with self._lock:
            running = self._running.get(self._tags.get(tag, -1))
        if running is not None:
            running.connection.interrupt()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            running = [item.connection for item in self._running.values()]
            idle, self._idle = self._idle, []
            database, self._database = self._database, None
        for connection in running:
            connection.interrupt()
        for connection in (*idle, *([database] if database is not None else [])):
            connection.close()

    def _fetch(self, connection: duckdb.DuckDBPyConnection, sql: str, given: Mapping[str, pa.Table]) -> pa.Table:
        for name, rows in given.items():
            connection.register(name, rows)
        try:
            return connection.sql(sql).to_arrow_table()
        finally:
            for name in given:
                connection.unregister(name)

    # -- connections ----------------------------------------------------------------------------------------------

    @contextmanager
    def _connection(self, tag: str | None) -> Iterator[_Running]:
        running = _Running(self._take(), time.monotonic() + self._seconds)
        number = id(running)
        with self._lock:
            self._running[number] = running
            if tag is not None:
                self._tags[tag] = number
        try:
            yield running
        finally:
            with self._lock:
                del self._running[number]
                if tag is not None and self._tags.get(tag) == number:
                    del self._tags[tag]
                kept = not self._closed.is_set()
                if kept:
                    self._idle.append(running.connection)
            if not kept:
                running.connection.close()

    def _take(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._closed.is_set():
                raise NotQuick("the account is being closed")
            if self._idle:
                return self._idle.pop()
            if self._database is None:
                self._database = _opened(self._memory, self._root)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="snowmelt-quick", daemon=True)
                self._watcher.start()
            return self._database.cursor()

    def _watch(self) -> None:
        """Interrupts what takes too long."""
        while not self._closed.wait(_LOOK_SECONDS):
            now = time.monotonic()
            with self._lock:
                late = [running for running in self._running.values() if running.until < now]
            for running in late:
                running.connection.interrupt()


def _opened(memory: str, root: str | None) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:", config={**_CONFIGURATION, "memory_limit": memory})
    for setting in _SETTINGS:
        database.execute(setting)
    if root is not None:
        database.execute(f"SET allowed_directories = ['{root.replace(chr(39), chr(39) * 2)}']")
        database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def translated(
    tree: exp.Expr, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table]
) -> tuple[Query, dict[str, pa.Table]]:
    """The query in DuckDB's words, and the rows to be given with it."""
    names = frozenset(table.name for table in tree.find_all(exp.Table))
    found, given = relations(tables, inputs, names)
    return Queries(found).query(tree), given


def _as_spark(found: pa.Table, query: Query) -> pa.Table:
    """The rows under the query's names, in the types that Spark's results have."""
    fields = [pa.field(name, type_.arrow) for name, type_ in query.columns]
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(found.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
