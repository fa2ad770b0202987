"""Starting Spark. The only module that knows more than Spark Connect's part of PySpark's API."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark.sql import SparkSession

from snowmelt.core import errors
from snowmelt.engine.jars import ensure_jars, require_java
from snowmelt.sql import arithmetic

WAREHOUSE_SIZES = {
    "X-Small": 1, "Small": 2, "Medium": 4, "Large": 8, "X-Large": 16, "2X-Large": 32, "3X-Large": 64,
    "4X-Large": 128, "5X-Large": 256, "6X-Large": 512,
}  # fmt: skip
"""A warehouse's size is its weight in Spark's fair scheduler, and its credits an hour."""

_FIXED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Names are resolved before Spark sees them, quoted and in their exact case.
    "spark.sql.caseSensitive": "true",
    # Overflow is an error, and decimals keep every digit: the emitted arithmetic is exact only so.
    **arithmetic.SPARK_SETTINGS,
    "spark.sql.session.timeZone": "UTC",
    # A recursive FLATTEN is unrolled, which makes deep expressions.
    "spark.sql.analyzer.maxIterations": "1000",
    "spark.sql.timeType.enabled": "true",
    # ${…} in a text is that text.
    "spark.sql.variable.substitute": "false",
    # Parquet files that Spark writes for us to read have a VARIANT as its two parts, and not in columns of their own.
    "spark.sql.variant.writeShredding.enabled": "false",
    # 1 in GROUP BY would otherwise mean the first column even where it is a constant of the query.
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    # File lists come from the Delta log: listing them again with a Spark job would cost more than the query.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.databricks.delta.properties.defaults.enableRowTracking": "false",
    "spark.scheduler.mode": "FAIR",
}
_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.app.name": "snowmelt",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": str(max(os.cpu_count() or 2, 2) * 2),
    # Adaptive execution joins small partitions, but does not split those that are too large to be sorted in memory.
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "64",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.log.level": "ERROR",
}
LIGHT = {
    # On tiny inputs adaptive execution and generated code cost more than they give.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    # Nobody looks at the text of these plans, and each rule's work need not be checked again at every turn.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.lightweightPlanChangeValidation": "false",
}

_RULES = "org.apache.spark.sql.catalyst.optimizer."
_EARLY_WORK = f"{_RULES}ConvertToLocalRelation"
"""It computes in the optimiser, row by row, what the tasks are about to do."""
_NOT_FOR_FEW_ROWS = [
    _EARLY_WORK,
    # They put joins below the hint that their input is one partition, which costs an exchange.
    f"{_RULES}PushDownLeftSemiAntiJoin", f"{_RULES}PushLeftSemiLeftAntiThroughJoin",
    # There is little to gain from conditions that follow from others, and they take long to find.
    f"{_RULES}InferFiltersFromConstraints",
]  # fmt: skip
TINY = {
    **LIGHT,
    # Compiling code takes longer than interpreting it for so few rows, and one task needs no exchange with others.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.subexpressionElimination.enabled": "false",
    # What Spark estimates for several joins is large enough to be exchanged, however few rows there are.
    "spark.sql.maxSinglePartitionBytes": f"{2**63 - 1}b",
    "spark.sql.optimizer.excludedRules": ",".join(_NOT_FOR_FEW_ROWS),
}

CHANGES = {
    # A few rows against whole tables: the plan is known beforehand, and what is shuffled is small.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.optimizer.excludedRules": _EARLY_WORK,
}


class Application:
    """The one Spark application of this process, which accounts share: the first starts it, the last stops it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._users = 0

    def acquire(self, settings: Mapping[str, str], work_dir: Path) -> SparkSession:
        """A session of the application. Settings that Spark reads at its start are those of the first account."""
        with self._lock:
            if self._session is None:
                self._session = _start(settings, work_dir)
                # All that was imported stays: when Python looks for garbage it need not walk through it, which takes
                # longer than a small refresh. At the end it wants to see everything again.
                gc.freeze()
                atexit.register(gc.unfreeze)
            self._users += 1
            return self._session

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._session is not None:
                session, self._session = self._session, None
                # A supervisor's signal reaches Spark's process too, which may be gone by now.
                with suppress(Exception):
                    session.stop()


APPLICATION = Application()


def _start(settings: Mapping[str, str], work_dir: Path) -> SparkSession:
    """The Spark application, configured so that translated SQL means what it should. `settings` win over defaults."""
    chosen = {**_DEFAULTS, **settings, **_FIXED}
    if chosen.get("spark.remote"):
        raise errors.configuration(
            "spark.remote (Spark Connect) is not supported yet.", hint="Set spark.master instead."
        )
    require_java()
    pools = work_dir / "spark-pools.xml"
    pools.parent.mkdir(parents=True, exist_ok=True)
    pools.write_text(_pools_xml(), encoding="utf-8")
    jars = [str(path) for path in ensure_jars()]
    if settings.get("spark.jars"):
        jars.append(settings["spark.jars"])
    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    builder = (
        builder.config("spark.jars", ",".join(jars))
        .config("spark.scheduler.allocation.file", pools.resolve().as_uri())
        .config("spark.sql.warehouse.dir", (work_dir / "spark-warehouse").resolve().as_uri())
    )
    # Spark writes the JSON of every failed statement to this logger; the user gets a SnowmeltError instead.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    if chosen["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Functions of users run in workers of this very Python, with what is installed here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _stderr_to(work_dir / "spark.log"):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel(chosen["spark.log.level"])
    return session


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """The JVM started inside writes its log there, for as long as it lives; our own stderr is as before after."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with path.open("ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def sibling(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Another session of the same application, with settings and temporary views of its own."""
    other = session.newSession()
    for key, value in settings.items():
        other.conf.set(key, value)
    return other


def with_jars(session: SparkSession, jars: Iterable[Path]) -> SparkSession:
    """Another session of the same application, which has these jars too. See `class_loader_of`."""
    other = session.newSession()
    for path in jars:
        quoted = str(path).replace("\\", "\\\\").replace("'", "\\'")
        other.sql(f"ADD JAR '{quoted}'")
    return other


@contextmanager
def class_loader_of(session: SparkSession) -> Iterator[None]:
    """What this thread asks of Spark inside, it does with the session's own jars: sources are looked up by thread."""
    assert session._jvm is not None
    thread = session._jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(session._jsparkSession.artifactManager().classloader())
    try:
        yield
    finally:
        thread.setContextClassLoader(before)


def choose_pool(session: SparkSession, pool: str | None) -> None:
    """Jobs that this thread starts from now on run in the pool."""
    session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)  # type: ignore[arg-type]  # None clears it


_LATE_MILLISECONDS = 200


def jobs_tagged(session: SparkSession, tags: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """By tag, the ids of the jobs that ran under it, of those that Spark keeps (spark.ui.retainedJobs)."""
    context = session.sparkContext._jsc.sc()
    # Spark notes what it does a little later. Where it is too busy for that, the latest jobs are missing.
    with suppress(Exception):
        context.listenerBus().waitUntilEmpty(_LATE_MILLISECONDS)
    tracker = context.statusTracker()
    found = {tag: tuple(sorted(tracker.getJobIdsForTag(tag))) for tag in tags}
    return {tag: jobs for tag, jobs in found.items() if jobs}


def pool_of(warehouse_id: str, size: str) -> str:
    """The scheduling pool of a warehouse. Spark reads pools once, so each size has a few to share."""
    return f"{size}-{sum(warehouse_id.encode()) % _POOLS_PER_SIZE}"


_POOLS_PER_SIZE = 8


def _pools_xml() -> str:
    def pool(name: str, weight: int) -> str:
        return (
            f'  <pool name="{name}"><schedulingMode>FAIR</schedulingMode><weight>{weight}</weight>'
            "<minShare>0</minShare></pool>"
        )

    lines: Iterable[str] = (
        pool(f"{size}-{slot}", weight) for size, weight in WAREHOUSE_SIZES.items() for slot in range(_POOLS_PER_SIZE)
    )
    return "\n".join(['<?xml version="1.0"?>', "<allocations>", *lines, "</allocations>", ""])
