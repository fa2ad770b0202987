"""Which engine computes a query: the quick lane in this process, or Spark.

Spark's result is the definition of every result. A query over few rows whose every part is on the quick lane's list is
computed here in milliseconds; everything else, and everything that fails here, goes to Spark.
"""

from __future__ import annotations

import importlib
import random
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import structlog
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.config import QuickMode, QuickSettings
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.user_code import KnownCode
from snowmelt.core.watching import Progress
from snowmelt.engine.cancelled import CancelledTags
from snowmelt.engine.model import FrameView, Lane, TableFiles
from snowmelt.engine.quick.comparing import difference, is_comparable
from snowmelt.engine.quick.lane import Noted, QuickLane, Translations
from snowmelt.engine.quick.scopes import DuckQuery
from snowmelt.engine.quick.types import NotQuick
from snowmelt.engine.rates import ObservedRates
from snowmelt.ivm.cost import ComputeEngine, EngineRates
from snowmelt.sql.dialect import call, to_spark_sql
from snowmelt.storage.columns import local_path

with lazy_imports():
    from snowmelt.engine import python_functions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from snowmelt.engine.application import Health
    from snowmelt.engine.engine import SparkEngine
    from snowmelt.engine.frames import SparkTables
    from snowmelt.engine.sessions import EngineSessions

_log = structlog.get_logger(__name__)
_KNOWN_TAGS = 2_000
_KNOWN_REASONS = 1_000
_COMPARED = "compared:"
"""Begins the tag of what Spark computes only to be compared: those jobs are not the statement's."""
_PROBED_FEW, _PROBED_MANY = 50, 300_000
_SMALL = frozenset({Lane.LIGHT, Lane.TINY})


@dataclass(slots=True)
class LaneUse:
    """Where the queries of a statement were computed."""

    quick: int = 0
    spark: int = 0
    writes: int = 0
    """Results that Spark computed and wrote by itself."""
    reason: str | None = None
    """Why the last one that Spark computed was not for the quick lane."""

    @property
    def lane(self) -> str | None:
        if self.quick and self.spark:
            return "both"
        return "quick" if self.quick else "spark" if self.spark else None


@dataclass(slots=True)
class QuickFigures:
    """Counts of the quick lane in this process."""

    queries: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    differences: int = 0

    def refuse(self, reason: str) -> None:
        """Counts a query that was not for the quick lane. Reasons may name columns, so not all of them are kept."""
        if reason in self.refused or len(self.refused) < _KNOWN_REASONS:
            self.refused[reason] += 1


class Engine:
    """Runs queries over pinned versions of tables and given rows. Safe to use from many threads."""

    def __init__(
        self, settings: Mapping[str, str], work_dir: Path, storage_uri: str, token_key: str,
        cancel_seconds: float = 5.0, quick: QuickSettings | None = None, silence_seconds: float = 60.0,
        python_memory: int = 2 * 1024**3,
    ) -> None:  # fmt: skip
        self._cancelled = CancelledTags()
        self.code = KnownCode()
        """Functions of users that queries may call: to be known before a query names them."""
        self._functions = token_key, self.code, python_memory
        self._made = settings, work_dir, storage_uri, cancel_seconds, silence_seconds, self._cancelled
        self._settings = quick or QuickSettings()
        folder = local_path(storage_uri).rstrip("/")
        root = folder if folder.startswith("/") else None
        self._quick = QuickLane(
            memory=self._settings.memory, seconds=self._settings.seconds, root=root, code=(self.code, python_memory)
        )
        self._uses: OrderedDict[str, LaneUse] = OrderedDict()
        self._lock = threading.Lock()
        self._sampled = random.Random()
        self.figures = QuickFigures()
        self.observed = ObservedRates()
        self._probed = False
        self.mode = self._settings.mode

    @cached_property
    def spark(self) -> SparkEngine:
        """Spark itself. PySpark is not imported before somebody needs it."""
        module = importlib.import_module("snowmelt.engine.engine")
        functions = python_functions.PythonFunctions(*self._functions)
        return cast("SparkEngine", module.SparkEngine(functions, *self._made))

    # -- queries --------------------------------------------------------------------------------------------------

    def to_arrow(
        self, query: exp.Expr | str, tables: Sequence[TableFiles] = (), *, lane: Lane = Lane.HEAVY,
        tag: str | None = None, pool: str | None = None, inputs: Mapping[str, pa.Table] | None = None,
        for_spark: Callable[[exp.Expr], exp.Expr] | None = None, known: Translations | None = None,
        noted: Noted | None = None, few: bool = False,
    ) -> pa.Table:  # fmt: skip
        """The result of a query, a tree of Spark SQL, over the named tables. `inputs` are Arrow tables it may name too.

        `for_spark` gives the tree as Spark should have it, where that differs. A text goes to Spark in any case.
        `known`: what the quick lane translated this very tree to before, if it reads nothing but `inputs`, all of them.
        `noted` is told what the quick lane was asked, for `again`.
        `few`: the quick lane may take it, whatever `lane` says to Spark.
        """

        def by_spark(tag: str | None = tag) -> pa.Table:
            tree = for_spark(query) if for_spark is not None and isinstance(query, exp.Expr) else query
            text = tree if isinstance(tree, str) else to_spark_sql(tree)
            was_up, began = self.spark_is_up, time.monotonic()
            found = self.spark.to_arrow(text, tables, lane=lane, tag=tag, pool=pool, inputs=inputs)
            if was_up:
                self._note(ComputeEngine.SPARK, tables, inputs, began)
            return found

        found = (
            self.quickly(query, tables, lane=lane, tag=tag, inputs=inputs, known=known, noted=noted, few=few)
            if isinstance(query, exp.Expr)
            else None
        )
        if found is None:
            self._use(tag).spark += 1
            return by_spark()
        assert isinstance(query, exp.Expr)
        return self._proven(found, by_spark, tag) if self._is_sampled() and is_comparable(query) else found

    def quickly(
        self, query: exp.Expr, tables: Sequence[TableFiles], *, lane: Lane, tag: str | None = None,
        inputs: Mapping[str, pa.Table] | None = None, known: Translations | None = None, noted: Noted | None = None,
        few: bool = False,
    ) -> pa.Table | None:  # fmt: skip
        """The result by the quick lane; None when that is for Spark to compute."""
        if not self._may_be_quick(lane, few=few):
            return None
        began = time.monotonic()
        found = self._by_quick(tag, lambda: self._quick.run(query, tables, inputs or {}, tag, known, noted))
        if found is not None:
            self._note(ComputeEngine.QUICK, tables, inputs, began)
        return found

    def again(self, query: DuckQuery, tag: str | None = None, *, reuse: bool = True) -> pa.Table | None:
        """The result of what was noted before; None when the whole query has to be asked.

        `reuse`: whether the rows may be those of the same question a moment ago.
        """
        if self.mode is QuickMode.OFF or self._is_sampled():
            return None
        return self._by_quick(tag, lambda: self._quick.again(query, tag, reuse=reuse))

    def _by_quick(self, tag: str | None, work: Callable[[], pa.Table]) -> pa.Table | None:
        self._cancelled.check(tag)
        try:
            found = work()
        except NotQuick as reason:
            self._cancelled.check(tag)
            self.figures.refuse(str(reason))
            self._use(tag).reason = str(reason)
            return None
        self._cancelled.check(tag)
        self._use(tag).quick += 1
        self.figures.queries += 1
        return found

    def _may_be_quick(self, lane: Lane, *, few: bool = False) -> bool:
        return self.mode is QuickMode.ALL or (self.mode is not QuickMode.OFF and (few or lane in _SMALL))

    def _is_sampled(self) -> bool:
        share = self._settings.compared
        return share > 0 and self._sampled.random() < share

    def _proven(self, found: pa.Table, by_spark: Callable[[str | None], pa.Table], tag: str | None) -> pa.Table:
        """Spark's rows, after both were compared. The first difference ends the quick lane's work in this process."""
        wanted = by_spark(None if tag is None else _COMPARED + tag)
        self.figures.compared += 1
        what = difference(found, wanted)
        if what is None:
            return found
        self.figures.differences += 1
        # The statement is in the history; its text may hold what no log is to have.
        _log.error("quick_lane_differs", difference=what, query_id=tag)
        if self._settings.strict:
            raise errors.internal(f"The quick lane differs from Spark: {what}")
        self.mode = QuickMode.OFF
        return wanted

    # -- what queries take ----------------------------------------------------------------------------------------

    def rates(self) -> EngineRates:
        """How long queries take here in both engines. The quick lane runs a few first if it has not run any yet."""
        if self.mode is not QuickMode.OFF and not self._probed and not self.observed.is_known(ComputeEngine.QUICK):
            self._probed = True
            self._probe()
        return self.observed.rates(spark_is_up=self.spark_is_up)

    @property
    def spark_is_up(self) -> bool:
        """Whether a query of Spark's need not wait for its start."""
        return "spark" in self.__dict__ and self.spark.health().state == "ready"

    def engine_since(self, tag: str, before: int = 0) -> ComputeEngine:
        """Which engine did the work of a statement: Spark if it did any after `spark_work` was `before`."""
        spark = self.mode is QuickMode.OFF or self.spark_work(tag) > before
        return ComputeEngine.SPARK if spark else ComputeEngine.QUICK

    def spark_work(self, tag: str) -> int:
        """How much of a statement's work Spark did so far."""
        use = self.use_of(tag)
        return use.spark + use.writes

    def _note(
        self, engine: ComputeEngine, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table] | None, began: float
    ) -> None:
        took = (time.monotonic() - began) * 1000
        size = sum(table.bytes for table in tables) + sum(rows.nbytes for rows in (inputs or {}).values())
        self.observed.note(engine, size, took)

    def _probe(self) -> None:
        """A query like a stage of a refresh, sums by key, over few rows and many. What fails now would fail again."""
        key, value = exp.column("k"), exp.column("v")
        sums = exp.alias_(call("count", exp.Literal.number(1)), "n"), exp.alias_(call("sum", value), "total")
        query = exp.select(key, *sums).from_("probed").group_by(key)
        keys = pa.array(range(_PROBED_FEW))
        for rows in (_PROBED_FEW,) * 4 + (_PROBED_MANY,):
            repeated = pa.concat_arrays([keys] * (rows // _PROBED_FEW))
            self.quickly(query, (), lane=Lane.TINY, inputs={"probed": pa.table({"k": repeated, "v": range(rows)})})

    # -- which lane -----------------------------------------------------------------------------------------------

    def _use(self, tag: str | None) -> LaneUse:
        if tag is None:
            return LaneUse()
        with self._lock:
            found = self._uses.setdefault(tag, LaneUse())
            while len(self._uses) > _KNOWN_TAGS:
                self._uses.popitem(last=False)
            return found

    def use_of(self, tag: str) -> LaneUse:
        """Where the queries of a statement were computed, of one that ran lately."""
        with self._lock:
            return self._uses.get(tag) or LaneUse()

    def reason_against(
        self, query: exp.Expr, tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table], lane: Lane
    ) -> str | None:
        """Why the query would not be computed by the quick lane; None if it would."""
        if self.mode is QuickMode.OFF:
            return "it is switched off"
        if not self._may_be_quick(lane):
            return "it reads more than small_query_bytes"
        try:
            self._quick.translate(query, tables, inputs)
        except NotQuick as reason:
            return str(reason)
        return None

    def cancel(self, tag: str) -> None:
        """Stops what the statement does that runs under the tag, and lets it start no more."""
        self._cancelled.note(tag)
        self._quick.cancel(tag)
        if "spark" in self.__dict__:
            for name in (tag, _COMPARED + tag):
                self.spark.cancel(name)

    # -- what only Spark does -------------------------------------------------------------------------------------

    def batches(self, sql: str, tables: Sequence[TableFiles] = (), **options: Any) -> Iterator[pa.RecordBatch]:
        return self.spark.batches(sql, tables, **options)

    def spill(self, sql: str, tables: Sequence[TableFiles], path: str, **options: Any) -> None:
        self._use(options.get("tag")).writes += 1
        self.spark.spill(sql, tables, path, **options)

    def append(self, sql: str, tables: Sequence[TableFiles], path: str, **options: Any) -> None:
        self._use(options.get("tag")).writes += 1
        self.spark.append(sql, tables, path, **options)

    def execute(self, sql: str, tables: Sequence[TableFiles] = (), **options: Any) -> pa.Table:
        return self.spark.execute(sql, tables, **options)

    def frame(
        self, work: Callable[[SparkTables], object], handler: str, sources: Mapping[str, str],
        tables: Sequence[TableFiles] = (), **options: Any,
    ) -> FrameView:  # fmt: skip
        return self.spark.frame(work, handler, sources, tables, **options)

    def alive(self, tag: str | None = None) -> AbstractContextManager[EngineSessions]:
        return self.spark.alive(tag)

    def session(self) -> SparkSession:
        return self.spark.session()

    def start(self) -> None:
        self.spark.start()

    def health(self) -> Health:
        return self.spark.health()

    def is_busy(self, tag: str) -> bool:
        return self.spark.is_busy(tag)

    def jobs(self, tags: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The jobs that Spark's engine knows; none before Spark was needed."""
        return self.spark.jobs(tags) if "spark" in self.__dict__ else {}

    def page_address(self) -> str | None:
        """Where Spark's own page is; None where there is none. It does not start Spark."""
        return self.spark.page_address() if "spark" in self.__dict__ else None

    def progress(self, tag: str) -> Progress | None:
        """How far Spark's engine is; None before Spark was needed."""
        return self.spark.progress(tag) if "spark" in self.__dict__ else None

    @property
    def started(self) -> threading.Event:
        return self.spark.started

    def stop(self) -> None:
        self._quick.close()
        if "spark" in self.__dict__:
            self.spark.stop()
