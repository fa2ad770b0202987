"""Running Spark SQL: over pinned versions of tables, into Arrow or into Delta."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import structlog

from snowmelt.core import errors, slots
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.watching import Progress
from snowmelt.engine import errors as spark_errors
from snowmelt.engine.application import APPLICATION, SILENCE_SECONDS, EngineState, Health, Life
from snowmelt.engine.arrow import to_arrow
from snowmelt.engine.cancelled import CancelledTags
from snowmelt.engine.endless import is_endless
from snowmelt.engine.errors import Fault
from snowmelt.engine.frames import SESSION as FRAME_SESSION
from snowmelt.engine.frames import SparkTables, view_of
from snowmelt.engine.given import frame_of, with_rows
from snowmelt.engine.halting import Halting
from snowmelt.engine.model import FrameView, Lane, TableFiles
from snowmelt.engine.probe import check_storage
from snowmelt.engine.python_functions import PythonFunctions
from snowmelt.engine.session import choose_pool, jobs_tagged, page_address, plan, progress_of, sibling
from snowmelt.engine.sessions import EngineSessions
from snowmelt.engine.views import LaneState, register

with lazy_imports():
    from snowmelt.engine import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Result = TypeVar("Result")
_log = structlog.get_logger(__name__)
_KNOWN_TAGS = 2_000
_STOP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Query:
    text: str
    lane: Lane
    tables: Sequence[TableFiles]
    inputs: Mapping[str, pa.Table]
    tag: str | None
    pool: str | None


class _Endless:
    """In place of a result: the query belongs into the narrow lane."""


class SparkEngine:
    """Spark for one account, started when first needed and again when it dies. Safe to use from many threads."""

    def __init__(
        self, functions: PythonFunctions, settings: Mapping[str, str], work_dir: Path, storage_uri: str,
        cancel_seconds: float = 5.0, silence_seconds: float = SILENCE_SECONDS, cancelled: CancelledTags | None = None,
    ) -> None:  # fmt: skip
        """`cancel_seconds` after it was cancelled a statement that still runs is ended with Spark's process.

        `silence_seconds` without an answer of it, that process is replaced.
        """
        self._functions = functions
        self._cancelled = cancelled or CancelledTags()
        self._halting = Halting(cancel_seconds, self._cancelled)
        self._settings = settings
        self._work_dir = work_dir
        self._silence_seconds = silence_seconds
        self._storage_uri = storage_uri
        self._lock = threading.Lock()
        self._sessions: EngineSessions | None = None
        """The sessions of Spark's present life, or of one that ended since."""
        self._tags: deque[str] = deque(maxlen=_KNOWN_TAGS)
        """Under which something ran lately."""
        self.started = threading.Event()
        """Whether Spark was needed."""

    # -- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts Spark in the background, unless that has been done."""
        with self._lock:
            if not self.started.is_set():
                APPLICATION.join(self._settings, self._work_dir, self._silence_seconds)
                self.started.set()

    def health(self) -> Health:
        return APPLICATION.health() if self.started.is_set() else Health(EngineState.IDLE)

    def session(self) -> SparkSession:
        """Spark's session, waiting until there is one."""
        return self._present(None).session

    def _present(self, tag: str | None) -> EngineSessions:
        self.start()
        life = APPLICATION.life(partial(self._cancelled.check, tag))
        with self._lock:
            if self._sessions is None or self._sessions.life.number != life.number:
                if self._sessions is not None:
                    self._sessions.close()
                with self._guarded_life(life):
                    check_storage(life.session, self._storage_uri)
                    self._sessions = EngineSessions(life, self._settings)
            return self._sessions

    def stop(self) -> None:
        # Whoever has the lock may be waiting for a process that does not answer, and that ends only after this.
        locked = self._lock.acquire(timeout=_STOP_SECONDS)
        try:
            if self.started.is_set():
                self.started.clear()
                if self._sessions is not None:
                    self._sessions.close()
                    self._sessions = None
                APPLICATION.leave()
        finally:
            if locked:
                self._lock.release()

    @contextmanager
    def alive(self, tag: str | None = None) -> Iterator[EngineSessions]:
        """Spark as it is now. What fails inside because it dies is told as that, and all else in Snowflake's words."""
        sessions = self._present(tag)
        with self._guarded_life(sessions.life):
            yield sessions
        APPLICATION.worked(sessions.life)

    @contextmanager
    def _guarded_life(self, life: Life) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if lost := APPLICATION.loss(life, error):
                raise errors.EngineLostError(lost.reason, innocent=lost.blamed) from error
            try:
                # Some errors are asked of Java only when somebody reads them: all of it, before that process goes.
                translated, fault = spark_errors.translate(error), spark_errors.fault_of(error)
            except Exception as unreadable:
                if lost := APPLICATION.loss(life, unreadable):
                    raise errors.EngineLostError(lost.reason, innocent=lost.blamed) from error
                raise
            if fault is Fault.HALTED:
                # By mistake, in place of a task that ended just then; who meant this one is told otherwise.
                raise errors.EngineLostError("another statement was stopped", innocent=True) from error
            if fault is Fault.DAMAGED:
                APPLICATION.condemn(life, "Spark's process was damaged")
                raise errors.EngineLostError(translated.message) from error
            if fault is Fault.NO_MEMORY:
                # Any thread of that process may have been hit. This statement is told; all others begin again.
                APPLICATION.condemn(life, "Spark ran out of memory")
            if translated is error:
                raise
            raise translated from error

    # -- reading --------------------------------------------------------------------------------------------------

    def to_arrow(
        self, sql: str, tables: Sequence[TableFiles] = (), *, lane: Lane = Lane.HEAVY, tag: str | None = None,
        pool: str | None = None, inputs: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The result of a query over the named tables. `inputs` are Arrow tables the query may name too."""
        text, given = with_rows(sql, inputs or {}) if lane is Lane.TINY else (sql, inputs or {})
        return self._query(_Query(text, lane, tables, given, tag, pool), to_arrow)

    def batches(
        self, sql: str, tables: Sequence[TableFiles] = (), *, lane: Lane = Lane.HEAVY, tag: str | None = None,
        pool: str | None = None,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        """The rows that `to_arrow` gives, partition by partition."""
        yield from self.to_arrow(sql, tables, lane=lane, tag=tag, pool=pool).to_batches(max_chunksize=65536)

    def spill(
        self, sql: str, tables: Sequence[TableFiles], path: str, *, tag: str | None = None, pool: str | None = None,
        inputs: Mapping[str, pa.Table] | None = None, positional: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Writes a query's result as Parquet files to a folder, in order: for results too large to bring here.

        `positional` names the columns c0, c1, …, since results may name two columns alike. `options` are the writer's.
        """

        def write(frame: DataFrame) -> None:
            names = [f"c{index}" for index in range(len(frame.columns))] if positional else frame.columns
            # The folder is the statement's own: what is there was left by a first attempt that met Spark's death.
            frame.toDF(*names).write.mode("overwrite").options(**(options or {})).parquet(path)

        self._query(_Query(sql, Lane.HEAVY, tables, inputs or {}, tag, pool), write)

    def append(
        self, sql: str, tables: Sequence[TableFiles], path: str, *, user_metadata: str, tag: str | None = None,
        pool: str | None = None, overwrite: bool = False, inputs: Mapping[str, pa.Table] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Writes a query's result to a Delta table with Spark's own writer, and `options` of it."""

        def write(frame: DataFrame) -> None:
            writer = frame.write.format("delta").option("userMetadata", user_metadata).options(**(options or {}))
            writer.mode("overwrite" if overwrite else "append").save(path)

        self._query(_Query(sql, Lane.HEAVY, tables, inputs or {}, tag, pool), write)

    def execute(
        self, sql: str, tables: Sequence[TableFiles] = (), *, user_metadata: str, tag: str | None = None,
        pool: str | None = None, inputs: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:  # fmt: skip
        """Runs a Delta command (MERGE, UPDATE, DELETE, ALTER TABLE) in a session of its own.

        The commit's tag is a session setting there, so one session must not run two commands at once.
        """
        check = partial(self._cancelled.check, tag)
        with slots.large(check), self.alive(tag) as sessions, sessions.writer() as session:
            state = LaneState(session)
            session.conf.set("spark.databricks.delta.commitInfo.userMetadata", user_metadata)
            names = [register(state, table) for table in tables]
            for name, data in (inputs or {}).items():
                frame_of(session, data).createOrReplaceTempView(name)
                names.append(name)
            try:
                return self._run(session, tag, pool, lambda: to_arrow(self._functions.sql(session, sql)))
            finally:
                for name in names:
                    session.catalog.dropTempView(name)

    # -- functions of users ---------------------------------------------------------------------------------------

    def frame(
        self, work: Callable[[SparkTables], object], handler: str, sources: Mapping[str, str],
        tables: Sequence[TableFiles] = (), *, tag: str | None = None, pool: str | None = None,
        inputs: Mapping[str, pa.Table] | None = None,
    ) -> FrameView:  # fmt: skip
        """What a function returns that asks for DataFrames of `sources`, queries by name; kept for a while."""
        with self.alive(tag) as sessions:
            session = sibling(sessions.session, FRAME_SESSION)
            state = LaneState(session)
            for table in tables:
                register(state, table)
            for name, data in (inputs or {}).items():
                frame_of(session, data).createOrReplaceTempView(name)
            given = {name: partial(self._functions.sql, session, sql) for name, sql in sources.items()}
            found = self._run(session, tag, pool, lambda: view_of(work(SparkTables(session, given)), handler))
            for name in sessions.keep_frame(found.name):
                session.catalog.dropGlobalTempView(name)
            return found

    # -- watching and stopping ------------------------------------------------------------------------------------

    def jobs(self, tags: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """By tag, the ids of the jobs that ran under it so far, for those that had any and Spark remembers.

        Takes a while: not for somebody who waits.
        """
        ran = set(self._tags).intersection(tags)
        sessions = self._sessions
        if sessions is None or not ran:
            return {}
        try:
            return jobs_tagged(sessions.session, ran)
        except Exception as error:
            # Spark is being stopped, or is gone: what it did is not worth failing for.
            _log.debug("spark_jobs_unknown", error=type(error).__name__)
            return {}

    def progress(self, tag: str) -> Progress | None:
        """How far Spark is with a statement, if it is at it."""
        sessions = self._sessions
        # Where nobody answers, there is nothing to tell.
        with suppress(Exception):
            return None if sessions is None else progress_of(sessions.session, tag)
        return None

    def page_address(self) -> str | None:
        """Where Spark's own page is; None where there is none, or no Spark yet."""
        sessions = self._sessions
        with suppress(Exception):
            return None if sessions is None else page_address(sessions.session)
        return None

    def is_busy(self, tag: str) -> bool:
        """Whether Spark is at something of the statement's, be it only to plan it."""
        sessions = self._sessions
        # Where nobody answers, nothing runs.
        with suppress(Exception):
            return sessions is not None and self._halting.is_busy(sessions, tag)
        return False

    def cancel(self, tag: str) -> None:
        """Stops what the statement does that runs under the tag, and lets it start no more.

        To be called again until the statement has ended: it is stopped harder the longer it takes.
        """
        self._cancelled.note(tag)
        sessions = self._sessions
        if sessions is not None and tag in self._tags:
            # A session's own interruptTag finds only tags that the calling thread has set, and this is another thread.
            # Where nobody answers, nothing runs.
            with suppress(Exception):
                self._halting.press(sessions, tag)

    def _query(self, query: _Query, work: Callable[[DataFrame], Result]) -> Result:
        """Does the work with the query's frame: in its lane, or in the narrow one when it may take very long."""
        heavy = query.lane is Lane.HEAVY
        check = partial(self._cancelled.check, query.tag)
        with slots.large(check) if heavy else nullcontext(), self.alive(query.tag) as sessions:
            found = self._in_lane(sessions, query, query.lane, work)
            if not isinstance(found, _Endless):
                return found
            with slots.large(check), sessions.turns.taken(check):
                found = self._in_lane(sessions, query, Lane.NARROW, work)
                assert not isinstance(found, _Endless)
                return found

    def _in_lane(
        self, sessions: EngineSessions, query: _Query, lane: Lane, work: Callable[[DataFrame], Result]
    ) -> Result | _Endless:
        def attempt() -> Result | _Endless:
            frame = self._functions.sql(state.session, query.text)
            if lane in (Lane.LIGHT, Lane.HEAVY) and is_endless(query.text, frame):
                return _Endless()
            plan(frame)
            return work(frame)

        with self._given(sessions, lane, query) as state:
            return self._run(state.session, query.tag, query.pool, attempt)

    def _run(self, session: SparkSession, tag: str | None, pool: str | None, work: Callable[[], Result]) -> Result:
        self._cancelled.check(tag)
        choose_pool(session, pool)
        if tag is None:
            return work()
        self._tags.append(tag)
        session.sparkContext.addJobTag(tag)
        try:
            with jvm.interruptible(session), self._halting.driving(session, tag):
                return work()
        except BaseException as error:
            if not isinstance(error, Exception):
                # Ctrl-C: the work would go on in Spark.
                self.cancel(tag)
            if tag in self._cancelled:
                self._await_end(tag)
            raise
        finally:
            session.sparkContext.removeJobTag(tag)

    def _await_end(self, tag: str) -> None:
        """A cancelled statement counts as running until its tasks have ended, or Spark was restarted to end them."""
        sessions = self._sessions
        if sessions is None:
            return
        # Where nobody answers, nothing runs.
        with suppress(Exception):
            self._halting.await_end(sessions, tag)

    # -- views ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _given(self, sessions: EngineSessions, lane: Lane, query: _Query) -> Iterator[LaneState]:
        """The lane with views of the query's tables and of the rows that are given with it."""
        state = sessions.lanes[lane]
        for table in query.tables:
            register(state, table)

        def make(name: str) -> None:
            frame = frame_of(state.session, query.inputs[name])
            (frame.coalesce(1) if lane is Lane.TINY else frame).createOrReplaceTempView(name)

        sessions.side_by_side(make, query.inputs)
        try:
            yield state
        finally:
            for name in query.inputs:
                state.session.catalog.dropTempView(name)
