"""Running queries in this process, with DuckDB.

One database in memory, with nothing in it but decoded files. Each query has a connection of its own, one thread, a
limit of memory and of time, and reads files of the storage root only. It never writes. Whatever fails here is no error
of the user's: the query goes to Spark, which gives the result or the error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import structlog
from sqlglot import exp

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.user_code import QUICK_STEADY, QUICK_VOLATILE, KnownCode
from snowmelt.engine.model import TableFiles
from snowmelt.engine.quick.answers import RecentAnswers
from snowmelt.engine.quick.decoded import DecodedFiles
from snowmelt.engine.quick.prepared import RUN, PreparedQueries
from snowmelt.engine.quick.scopes import DuckQuery
from snowmelt.engine.quick.types import VARIANT, NotQuick, SparkType
from snowmelt.engine.quick.variant_calls import MARK, register_all

with lazy_imports():
    import duckdb

    from snowmelt.engine.quick import code_calls, queries
    from snowmelt.engine.quick.sources import relations

_log = structlog.get_logger(__name__)

_LOOK_SECONDS = 0.05
_BATCH_ROWS = 131_072
_KNOWN_SCHEMAS = 2_000
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

Translations = dict[tuple[tuple[str, pa.Schema], ...], DuckQuery]
"""Of one tree, by the rows that are given with it."""
Noted = Callable[[DuckQuery], None]


@dataclass(slots=True)
class _Running:
    connection: duckdb.DuckDBPyConnection
    until: float


class QuickLane:
    """Safe to use from many threads."""

    def __init__(
        self, *, memory: str = "1GB", seconds: float = 5.0, root: str | None = None,
        code: tuple[KnownCode, int] | None = None,
    ) -> None:  # fmt: skip
        """`root` is the only folder that may be read. `code` are users' functions, and the memory of what runs them."""
        self._memory = memory
        self._seconds = seconds
        self._root = root
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._running: dict[int, _Running] = {}
        self._tags: dict[str, int] = {}
        self._watcher: threading.Thread | None = None
        self._knows_variants = False
        self._code = code
        self._calls: code_calls.CodeCalls | None = None
        self._closed = threading.Event()
        self._prepared = PreparedQueries(self._cursor)
        self._decoded = DecodedFiles()
        self._answers = RecentAnswers()

    def run(
        self, tree: exp.Expr, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table], tag: str | None = None,
        known: Translations | None = None, noted: Noted | None = None,
    ) -> pa.Table:  # fmt: skip
        """The result, as Spark would give it. Raises NotQuick when that is for Spark to compute.

        `known` has translations of the same tree over given rows alone, and gets a new one. `noted` is told one that
        reads nothing but tables.
        """
        with _guarded():
            if known is not None and not tables:
                query, given = _known(tree, inputs, known)
                return _as_spark(self._fetch_prepared(query.sql, given, tag), query)
            query, given = translated(tree, tables, inputs)
            with self._connection(tag) as running:
                found = self._fetch(running.connection, query.sql, given)
            if noted is not None and not given:
                noted(query)
            return _as_spark(found, query)

    def again(self, query: DuckQuery, tag: str | None = None, *, reuse: bool = True) -> pa.Table:
        """Runs again what `run` noted; takes rows computed lately if `reuse`."""
        known = self._answers.get(query) if reuse else None
        if known is not None:
            return known
        with _guarded(), self._connection(tag) as running:
            found = _as_spark(self._fetch(running.connection, query.sql, {}), query)
        self._answers.put(query, found)
        return found

    def translate(
        self, tree: exp.Expr, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table]
    ) -> tuple[DuckQuery, dict[str, pa.Table]]:
        """What `run` would ask DuckDB. Raises NotQuick as `run` would."""
        with _guarded():
            return translated(tree, tables, inputs)

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
        self._prepared.close()
        self._answers.clear()
        if self._calls is not None:
            self._calls.close()
        for connection in (*idle, *([database] if database is not None else [])):
            connection.close()

    def _fetch(self, connection: duckdb.DuckDBPyConnection, sql: str, given: Mapping[str, pa.Table]) -> pa.Table:
        self._know_functions(connection, sql)
        for name, rows in given.items():
            connection.register(name, rows)
        try:
            with self._decoded.reading(connection, sql) as text:
                return _computed(connection, text)
        finally:
            for name in given:
                connection.unregister(name)

    def _fetch_prepared(self, sql: str, given: Mapping[str, pa.Table], tag: str | None) -> pa.Table:
        """The result of a query that will come again with other rows."""
        if MARK in sql or _calls_code(sql):
            with self._connection(tag) as running:
                self._know_functions(running.connection, sql)
        prepared = self._prepared.take(sql, given)
        try:
            with self._watched(prepared.connection, tag):
                found = _computed(prepared.connection, RUN)
        except BaseException:
            prepared.connection.close()
            raise
        self._prepared.give_back(prepared)
        return found

    def _know_functions(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Those of VARIANTs take some milliseconds, so that only a query that has VARIANTs waits for them."""
        with self._lock:
            if MARK in sql and not self._knows_variants:
                register_all(connection)
                self._knows_variants = True
            if self._code is not None and self._calls is None and _calls_code(sql):
                self._calls = code_calls.CodeCalls(*self._code, self._seconds)
                self._calls.register(connection)

    # -- connections ----------------------------------------------------------------------------------------------

    @contextmanager
    def _connection(self, tag: str | None) -> Iterator[_Running]:
        connection = self._take()
        try:
            with self._watched(connection, tag) as running:
                yield running
        finally:
            with self._lock:
                kept = not self._closed.is_set()
                if kept:
                    self._idle.append(connection)
            if not kept:
                connection.close()

    @contextmanager
    def _watched(self, connection: duckdb.DuckDBPyConnection, tag: str | None) -> Iterator[_Running]:
        """Somebody may interrupt what the connection does meanwhile."""
        running = _Running(connection, time.monotonic() + self._seconds)
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

    def _take(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._idle and not self._closed.is_set():
                return self._idle.pop()
        return self._cursor()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._closed.is_set():
                raise NotQuick("the account is being closed")
            if self._database is None:
                self._database = _opened(self._memory, self._root)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="snowmelt-quick", daemon=True)
                self._watcher.start()
            return self._database.cursor()

    def _watch(self) -> None:
        """Interrupts what takes too long, and drops decoded files that nobody needs."""
        while not self._closed.wait(_LOOK_SECONDS):
            now = time.monotonic()
            with self._lock:
                late = [running for running in self._running.values() if running.until < now]
            for running in late:
                running.connection.interrupt()
            self._answers.drop_unused(now)
            if self._decoded.has_unused(now):
                with _guarded(), self._connection(None) as unused:
                    self._decoded.drop_unused(unused.connection, now)


def _calls_code(sql: str) -> bool:
    """Whether it may call functions of users."""
    return QUICK_STEADY in sql or QUICK_VOLATILE in sql


@contextmanager
def _guarded() -> Iterator[None]:
    """Whatever fails inside is a reason to leave the query to Spark."""
    try:
        yield
    except NotQuick:
        raise
    except (RecursionError, OSError) as error:
        # A query that is nested deeply, or a file that is gone.
        raise NotQuick(type(error).__name__) from None
    except duckdb.InterruptException:
        raise NotQuick("it was interrupted") from None
    except duckdb.Error as error:
        raise NotQuick(f"DuckDB: {type(error).__name__}") from None
    except Exception as error:
        # A mistake of the lane is not to fail a statement that Spark can run.
        _log.warning("quick_lane_failed", error=type(error).__name__)
        raise NotQuick(f"a failure: {type(error).__name__}") from error


def _opened(memory: str, root: str | None) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:", config={**_CONFIGURATION, "memory_limit": memory})
    for setting in _SETTINGS:
        database.execute(setting)
    if root is not None:
        database.execute(f"SET allowed_directories = ['{root.replace(chr(39), chr(39) * 2)}']")
        database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _computed(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """`sql` binds a query before it runs it, which binds it again: half of the time that a small one takes.

    What it calls then is DuckDB's own business, so one that has it no more is asked the long way.
    """
    submit = getattr(connection, "_submit", None)
    if submit is None:
        return connection.sql(sql).to_arrow_table()
    return submit(sql, None, "arrow", _BATCH_ROWS).arrow_table()


def translated(
    tree: exp.Expr, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table]
) -> tuple[DuckQuery, dict[str, pa.Table]]:
    """The query in DuckDB's words, and the rows to be given with it."""
    names = frozenset(table.name for table in tree.find_all(exp.Table))
    found, given = relations(tables, inputs, names)
    query = queries.QuickQueries(found).query(tree)
    for _, type_ in query.columns:
        # Arrays and structs have none.
        _ = type_.arrow
    return query, given


def _known(
    tree: exp.Expr, inputs: Mapping[str, pa.Table], known: Translations
) -> tuple[DuckQuery, dict[str, pa.Table]]:  # fmt: skip
    """A translation depends on the columns of the given rows and on nothing else that is given."""
    columns = tuple((name, rows.schema) for name, rows in inputs.items())
    if columns not in known:
        known[columns], given = translated(tree, (), inputs)
        return known[columns], given
    _, given = relations((), inputs, frozenset(inputs))
    return known[columns], given


def _as_spark(found: pa.Table, query: DuckQuery) -> pa.Table:
    """The rows under the query's names, in the types that Spark's results have."""
    schema = _schema(query.columns)
    columns = [
        column if column.type == type_ else _cast(column, type_)
        for column, type_ in zip(found.columns, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@lru_cache(_KNOWN_SCHEMAS)
def _schema(columns: tuple[tuple[str, SparkType], ...]) -> pa.Schema:
    return pa.schema([pa.field(name, type_.arrow) for name, type_ in columns])


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if type_ != VARIANT.arrow:
        return column.cast(type_)
    # Its parts are never NULL, not even those of a NULL.
    whole = column.combine_chunks()
    parts = [whole.field(part.name).cast(part.type).fill_null(b"") for part in type_]
    return pa.StructArray.from_arrays(parts, fields=list(type_), mask=whole.is_null())
