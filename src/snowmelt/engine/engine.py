"""Running Spark SQL: over pinned versions of tables, into Arrow or into Delta."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import DataType, Kind
from snowmelt.engine import errors as spark_errors
from snowmelt.engine.arrow import to_arrow
from snowmelt.engine.frames import SESSION as FRAME_SESSION
from snowmelt.engine.frames import FrameView, SparkTables, view_of
from snowmelt.engine.given import frame_of, with_rows
from snowmelt.engine.jars import ensure_jars, locked_jars
from snowmelt.engine.probe import check_storage
from snowmelt.engine.session import APPLICATION, CHANGES, LIGHT, TINY, choose_pool, jobs_tagged, sibling, with_jars
from snowmelt.state.model import Column
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW
from snowmelt.storage.rewrite import FILE, ROW

Result = TypeVar("Result")
_log = structlog.get_logger(__name__)
_KEPT_VIEWS = 2_000
"""Temporary views kept a lane; the least recently used one goes first."""
_WRITERS = 4
_GIVERS = 3
_KEPT_FRAMES = 100
"""Results of users' functions; a refresh needs its own for as long as it lasts."""
_KNOWN_TAGS = 2_000


class Lane(StrEnum):
    """Which of Spark's settings fit the work."""

    LIGHT = "light"
    """Small inputs: no adaptive execution, one shuffle partition, no code generation."""
    HEAVY = "heavy"
    TINY = "tiny"
    """Nothing but a few rows that are given with the query: all of it is one task, and nothing is compiled."""
    CHANGES = "changes"
    """A few rows joined to whole tables, as in incremental refreshes."""


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """Where a column is found in files that were written when the table had another shape."""

    name: str | None
    """As it was called then; None when it was not there."""
    type: DataType
    """As it was then."""
    fill: str = "NULL"
    """Spark SQL for what rows of that time have in a column that was not there."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """One version of a table, as the files that hold it."""

    reference: str
    """The name of its temporary view; it names the version too, so that a view never changes."""
    columns: tuple[Column, ...]
    files: tuple[str, ...]
    delta_path: str | None = None
    """Set when only Delta's own reader will do (column mapping, type widening); then `version` counts."""
    version: int = 0
    positions: bool = False
    """Adds `__file` and `__row`, which tell rows apart: the file's name, and the place in it where Spark knows that."""
    origins: bool = False
    """With `positions`: those where a row was born, in files that carry them. See `storage.origins`."""
    bytes: int = 0
    """Of the files together."""
    ddl: str | None = None
    """The columns as Spark writes them, for files of ours that are no table's."""
    sources: tuple[ColumnSource, ...] | None = None
    """One for each column when the files have another shape than the table has now."""


_SETTINGS: Mapping[Lane, Mapping[str, str]] = {
    Lane.HEAVY: {}, Lane.LIGHT: LIGHT, Lane.TINY: TINY, Lane.CHANGES: CHANGES,
}  # fmt: skip


class _LaneState:
    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.views: OrderedDict[str, None] = OrderedDict()
        self.lock = threading.Lock()


class SparkEngine:
    """One Spark application, started when first needed. Safe to use from many threads."""

    def __init__(self, settings: Mapping[str, str], work_dir: Path, storage_uri: str) -> None:
        self._settings = settings
        self._work_dir = work_dir
        self._storage_uri = storage_uri
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._lanes: dict[Lane, _LaneState] = {}
        self._writers: list[SparkSession] = []
        self._extended: dict[str, SparkSession] = {}
        self._frames: deque[str] = deque()
        self._writer_slots = threading.Semaphore(_WRITERS)
        self._tags: deque[str] = deque(maxlen=_KNOWN_TAGS)
        """Under which something ran lately."""
        self._givers: ThreadPoolExecutor
        """Makes views of given rows, as long as there is a session."""
        self.started = threading.Event()

    # -- life -----------------------------------------------------------------------------------------------------

    def session(self) -> SparkSession:
        with self._lock:
            if self._session is None:
                session = APPLICATION.acquire(self._settings, self._work_dir)
                self._checked(session)
                self._lanes = {
                    lane: _LaneState(sibling(session, self._not_set(settings))) for lane, settings in _SETTINGS.items()
                }
                self._session = session
                self._givers = ThreadPoolExecutor(_GIVERS, thread_name_prefix="snowmelt-given")
                self.started.set()
            return self._session

    def session_with(self, package: str) -> SparkSession:
        """A session that has the jars of the package's lock too; the same one each time."""
        session = self.session()
        with self._lock:
            if package not in self._extended:
                self._extended[package] = with_jars(session, ensure_jars(jars=locked_jars(package)))
            return self._extended[package]

    def _not_set(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Those that the user has not decided."""
        return {key: value for key, value in settings.items() if key not in self._settings}

    def _checked(self, session: SparkSession) -> None:
        try:
            check_storage(session, self._storage_uri)
        except BaseException:
            APPLICATION.release()
            raise

    def stop(self) -> None:
        with self._lock:
            if self._session is not None:
                self._session = None
                APPLICATION.release()
                self._lanes = {}
                self._writers = []
                self._extended = {}
                self._givers.shutdown(wait=False)
                self.started.clear()

    def _lane(self, lane: Lane) -> _LaneState:
        self.session()
        return self._lanes[lane]

    # -- reading --------------------------------------------------------------------------------------------------

    def to_arrow(
        self, sql: str, tables: Sequence[TableFiles] = (), *, lane: Lane = Lane.HEAVY, tag: str | None = None,
        pool: str | None = None, inputs: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The result of a query over the named tables. `inputs` are Arrow tables the query may name too."""
        text, given = with_rows(sql, inputs or {}) if lane is Lane.TINY else (sql, inputs or {})
        with self._prepared(lane, tables, given) as state:
            return self._run(state.session, tag, pool, lambda: to_arrow(state.session.sql(text)))

    def batches(
        self, sql: str, tables: Sequence[TableFiles] = (), *, lane: Lane = Lane.HEAVY, tag: str | None = None,
        pool: str | None = None,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        """As `to_arrow`, partition by partition."""
        yield from self.to_arrow(sql, tables, lane=lane, tag=tag, pool=pool).to_batches(max_chunksize=65536)

    def spill(
        self, sql: str, tables: Sequence[TableFiles], path: str, *, tag: str | None = None, pool: str | None = None,
        inputs: Mapping[str, pa.Table] | None = None, positional: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Writes a query's result as Parquet files to a folder, in order: for results too large to bring here.

        `positional` names the columns c0, c1, …, since results may name two columns alike. `options` are the writer's.
        """
        with self._prepared(Lane.HEAVY, tables, inputs or {}) as state:

            def write() -> None:
                frame = state.session.sql(sql)
                names = [f"c{index}" for index in range(len(frame.columns))] if positional else frame.columns
                frame.toDF(*names).write.options(**(options or {})).parquet(path)

            self._run(state.session, tag, pool, write)

    def append(
        self, sql: str, tables: Sequence[TableFiles], path: str, *, user_metadata: str, tag: str | None = None,
        pool: str | None = None, overwrite: bool = False, inputs: Mapping[str, pa.Table] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Writes a query's result to a Delta table with Spark's own writer, and `options` of it."""
        with self._prepared(Lane.HEAVY, tables, inputs or {}) as state:

            def write() -> None:
                frame: DataFrame = state.session.sql(sql)
                writer = frame.write.format("delta").option("userMetadata", user_metadata).options(**(options or {}))
                writer.mode("overwrite" if overwrite else "append").save(path)

            self._run(state.session, tag, pool, write)

    def execute(
        self, sql: str, tables: Sequence[TableFiles] = (), *, user_metadata: str, tag: str | None = None,
        pool: str | None = None, inputs: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:  # fmt: skip
        """Runs a Delta command (MERGE, UPDATE, DELETE, ALTER TABLE) in a session of its own.

        The commit's tag is a session setting there, so one session must not run two commands at once.
        """
        with self._writer() as session:
            state = _LaneState(session)
            session.conf.set("spark.databricks.delta.commitInfo.userMetadata", user_metadata)
            names = [self._register(state, table) for table in tables]
            for name, data in (inputs or {}).items():
                frame_of(session, data).createOrReplaceTempView(name)
                names.append(name)
            try:
                return self._run(session, tag, pool, lambda: to_arrow(session.sql(sql)))
            finally:
                for name in names:
                    session.catalog.dropTempView(name)

    @contextmanager
    def _writer(self) -> Iterator[SparkSession]:
        main = self.session()
        with self._writer_slots:
            with self._lock:
                session = self._writers.pop() if self._writers else sibling(main, {})
            try:
                yield session
            finally:
                with self._lock:
                    self._writers.append(session)

    # -- functions of users ---------------------------------------------------------------------------------------

    def frame(
        self, work: Callable[[SparkTables], object], handler: str, sources: Mapping[str, str],
        tables: Sequence[TableFiles] = (), *, tag: str | None = None, pool: str | None = None,
        inputs: Mapping[str, pa.Table] | None = None,
    ) -> FrameView:  # fmt: skip
        """What a function returns that asks for DataFrames of `sources`, queries by name; kept for a while."""
        session = sibling(self.session(), FRAME_SESSION)
        state = _LaneState(session)
        for table in tables:
            self._register(state, table)
        for name, data in (inputs or {}).items():
            frame_of(session, data).createOrReplaceTempView(name)
        given = {name: partial(session.sql, sql) for name, sql in sources.items()}
        found = self._run(session, tag, pool, lambda: view_of(work(SparkTables(session, given)), handler))
        with self._lock:
            self._frames.append(found.name)
            dropped = [self._frames.popleft() for _ in range(len(self._frames) - _KEPT_FRAMES)]
        for name in dropped:
            session.catalog.dropGlobalTempView(name)
        return found

    # -- watching and stopping ------------------------------------------------------------------------------------

    def jobs(self, tags: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """By tag, the ids of the jobs that ran under it so far, for those that had any and Spark remembers.

        Takes a while: not for somebody who waits.
        """
        ran = set(self._tags).intersection(tags)
        session = self._session
        if session is None or not ran:
            return {}
        try:
            return jobs_tagged(session, ran)
        except Exception as error:
            # Spark is being stopped, or is gone: what it did is not worth failing for.
            _log.debug("spark_jobs_unknown", error=type(error).__name__)
            return {}

    def cancel(self, tag: str) -> None:
        """Stops the jobs of the statement that runs under the tag."""
        if self.started.is_set():
            # A session's own interruptTag finds only tags that the calling thread has set, and this is another thread.
            self.session().sparkContext.cancelJobsWithTag(tag)

    def _run(self, session: SparkSession, tag: str | None, pool: str | None, work: Callable[[], Result]) -> Result:
        choose_pool(session, pool)
        if tag is not None:
            self._tags.append(tag)
            session.sparkContext.addJobTag(tag)
        try:
            return work()
        except SnowmeltError:
            raise
        except Exception as error:
            raise spark_errors.translate(error) from error
        finally:
            if tag is not None:
                session.sparkContext.removeJobTag(tag)

    # -- views ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _prepared(
        self, lane: Lane, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table]
    ) -> Iterator[_LaneState]:
        state = self._lane(lane)
        for table in tables:
            self._register(state, table)

        def make(name: str) -> None:
            frame = frame_of(state.session, inputs[name])
            (frame.coalesce(1) if lane is Lane.TINY else frame).createOrReplaceTempView(name)

        # Mostly waiting for Spark to answer: side by side it is done sooner.
        list(self._givers.map(make, inputs))
        try:
            yield state
        finally:
            for name in inputs:
                state.session.catalog.dropTempView(name)

    def _register(self, state: _LaneState, table: TableFiles) -> str:
        """Makes the view of one table version, once a lane."""
        with state.lock:
            if table.reference in state.views:
                state.views.move_to_end(table.reference)
                return table.reference
        frame = self._frame(state.session, table)
        frame.createOrReplaceTempView(table.reference)
        with state.lock:
            state.views[table.reference] = None
            dropped = [state.views.popitem(last=False)[0] for _ in range(len(state.views) - _KEPT_VIEWS)]
        for name in dropped:
            state.session.catalog.dropTempView(name)
        return table.reference

    def _frame(self, session: SparkSession, table: TableFiles) -> DataFrame:
        if table.ddl is not None:
            return session.read.schema(table.ddl).parquet(*table.files)
        sources = table.sources or tuple(ColumnSource(column.name, column.type) for column in table.columns)
        fields = {source.name: source.type.stored for source in sources if source.name is not None}
        if table.origins and table.delta_path is None:
            fields |= {ORIGIN_FILE: "STRING", ORIGIN_ROW: "BIGINT"}
        ddl = ", ".join(f"{_quoted(name)} {type_}" for name, type_ in fields.items())
        # Rows of a time when the table had none of its present columns still count.
        stored = ddl or StructType([])
        scanned = [_scan(column, source) for column, source in zip(table.columns, sources, strict=True)]
        if table.delta_path is not None:
            frame = session.read.format("delta").option("versionAsOf", table.version).load(table.delta_path)
        elif not table.files:
            # From a list of Python rows Spark would start Python workers, which nothing else here needs.
            empty = [f"CAST(NULL AS {type_}) AS {_quoted(name)}" for name, type_ in fields.items()]
            frame = session.range(0).selectExpr(*empty)
        else:
            frame = session.read.schema(stored).parquet(*table.files)
        return frame.selectExpr(*scanned, *_positions(table))


def _scan(column: Column, source: ColumnSource) -> str:
    """A stored column as its value in queries."""
    name = _quoted(column.name)
    if source.name is None:
        return f"CAST({source.fill} AS {column.type.spark}) AS {name}"
    found = _quoted(source.name)
    if source.type.spark == column.type.spark and column.type.kind is not Kind.TIME:
        return found if found == name else f"{found} AS {name}"
    return f"CAST({found} AS {column.type.spark}) AS {name}"


def _positions(table: TableFiles) -> list[str]:
    if not table.positions:
        return []
    if table.delta_path is not None:
        return [f"_metadata.file_name AS {FILE}", f"monotonically_increasing_id() AS {ROW}"]
    if not table.files:
        return [f"CAST(NULL AS STRING) AS {FILE}", f"CAST(NULL AS BIGINT) AS {ROW}"]
    if table.origins:
        return [
            f"coalesce({ORIGIN_FILE}, _metadata.file_name) AS {FILE}",
            f"coalesce({ORIGIN_ROW}, _metadata.row_index) AS {ROW}",
        ]
    return [f"_metadata.file_name AS {FILE}", f"_metadata.row_index AS {ROW}"]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
