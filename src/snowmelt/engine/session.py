"""Starting Spark. With `jvm`, the only module that knows more than Spark Connect's part of PySpark's API."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.watching import Progress
from snowmelt.engine.archive import with_archive
from snowmelt.engine.jars import ensure_jars, locked_jars, require_java
from snowmelt.engine.pools import pools_xml
from snowmelt.sql import arithmetic

with lazy_imports():
    from pyspark import sql

    from snowmelt.engine import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    # Recursive queries end by themselves, or by the timeout of the statement.
    "spark.sql.cteRecursionLevelLimit": "100000",
    "spark.sql.cteRecursionRowLimit": "-1",
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
_LOCAL = {
    # A task's fatal error would end this process, which is everybody's: a thread that was stopped (`halting`) has one.
    # One for want of memory is followed by a new process, when its statement has been told (`SparkEngine`).
    "spark.executor.killOnFatalError.depth": "0",
    # A function's worker is killed so soon after its task was cancelled.
    "spark.python.task.killTimeout": "500ms",
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

_OBJECT_STORES = "snowmelt.engine.object_stores"
_IN_S3 = "spark.hadoop.fs.s3.impl"
"""A setting that is there when tables lie in S3."""
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


def start(settings: Mapping[str, str], work_dir: Path) -> SparkSession:
    """The Spark application, configured so that translated SQL means what it should. `settings` win over defaults."""
    chosen = {**_DEFAULTS, **settings, **_FIXED}
    if chosen.get("spark.remote"):
        raise errors.configuration(
            "spark.remote (Spark Connect) is not supported yet.", hint="Set spark.master instead."
        )
    if not chosen["spark.master"].startswith("local"):
        # An executor whose cancelled task does not end is replaced. In this process the engine itself sees to that.
        chosen = {"spark.task.reaper.enabled": "true", "spark.task.reaper.killTimeout": "10s", **chosen}
    java = require_java()
    pools = work_dir / "spark-pools.xml"
    pools.parent.mkdir(parents=True, exist_ok=True)
    pools.write_text(pools_xml(), encoding="utf-8")
    # Last, so that Java's archive holds for what stands before them.
    needed = [*ensure_jars(), *(_for_object_stores() if _IN_S3 in chosen else ())]
    if chosen["spark.master"].startswith("local"):
        chosen = {**_LOCAL, **with_archive(chosen, java, needed)}
    else:
        more = [settings["spark.jars"]] if settings.get("spark.jars") else []
        chosen["spark.jars"] = ",".join([*map(str, needed), *more])
    chosen |= {
        "spark.scheduler.allocation.file": pools.resolve().as_uri(),
        "spark.sql.warehouse.dir": (work_dir / "spark-warehouse").resolve().as_uri(),
    }
    # Spark writes the JSON of every failed statement to this logger; the user gets a SnowmeltError instead.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    if chosen["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Functions of users run in workers of this very Python, with what is installed here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Of the short-lived Java that puts the command for the real one together.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    jvm.launch(chosen, work_dir / "spark.log")
    session = sql.SparkSession.builder.config(map=dict(chosen)).getOrCreate()
    session.sparkContext.setLogLevel(chosen["spark.log.level"])
    return session


def _for_object_stores() -> Iterator[Path]:
    """The jars of S3, and that of the log store, which `tools.log_store` makes."""
    yield from ensure_jars(jars=locked_jars(_OBJECT_STORES))
    yield Path(str(files(_OBJECT_STORES))) / "log_store" / "conditional-log-store.jar"


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
    """Jobs that this thread starts from now on run in the pool, and their tasks are interrupted when cancelled."""
    session.sparkContext.setLocalProperty("spark.job.interruptOnCancel", "true")
    session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)  # type: ignore[arg-type]  # None clears it


_LATE_MILLISECONDS = 200
_TASK = re.compile(r"Executor task launch worker for task \S+ in stage (\d+)\.\d+ \(TID (\d+)\)")


def active_stages(session: SparkSession, tag: str) -> set[int]:
    """The stages of jobs under the tag that have tasks at work."""
    tracker = session.sparkContext._jsc.sc().statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(tag)]
    stages = {stage for job in jobs if job.isDefined() for stage in job.get().stageIds()}
    found = {stage: tracker.getStageInfo(stage) for stage in stages}
    return {stage for stage, info in found.items() if info.isDefined() and info.get().numActiveTasks() > 0}


def threads_of_tasks(session: SparkSession) -> Iterator[tuple[Any, int, int]]:
    """Java's threads that bear the name of a task, at it or waiting for the next one, with its stage and its number."""
    assert session._jvm is not None
    for thread in session._jvm.java.lang.Thread.getAllStackTraces().keySet().toArray():
        if found := _TASK.match(str(thread.getName())):
            yield thread, int(found[1]), int(found[2])


def page_address(session: SparkSession) -> str | None:
    """Where Spark shows what it runs (spark.ui.enabled, spark.ui.port), if it does."""
    address: str | None = session.sparkContext.uiWebUrl
    return address


def progress_of(session: SparkSession, tag: str) -> Progress | None:
    """How far the jobs under the tag are; None before the first one. Stages that were skipped do not count."""
    tracker = session.sparkContext._jsc.sc().statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(tag)]
    numbers = {stage for job in jobs if job.isDefined() for stage in job.get().stageIds()}
    found = [info.get() for info in map(tracker.getStageInfo, sorted(numbers)) if info.isDefined()]
    if not found:
        return None
    tasks = [(stage.numCompletedTasks(), stage.numTasks()) for stage in found]
    return Progress(
        stages_done=sum(done == all_ for done, all_ in tasks), stages=len(tasks),
        tasks_done=sum(done for done, _ in tasks), tasks=sum(all_ for _, all_ in tasks),
    )  # fmt: skip


def plan(frame: DataFrame) -> None:
    """Plans the query in this thread's own Java thread, where it can be stopped, unlike in that of Arrow's rows."""
    frame._jdf.queryExecution().executedPlan()


def plan_with_sizes(frame: DataFrame) -> str:
    """The plans of the query that the frame is about to run, with how large Spark takes their parts to be."""
    jvm_view = frame.sparkSession._jvm
    assert jvm_view is not None
    return str(jvm_view.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "cost"))


def is_local(session: SparkSession) -> bool:
    """Whether tasks run in the very process that we speak to."""
    return (session.conf.get("spark.master", "local") or "local").startswith("local")


def jobs_tagged(session: SparkSession, tags: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """By tag, the ids of the jobs that ran under it, of those that Spark keeps (spark.ui.retainedJobs)."""
    context = session.sparkContext._jsc.sc()
    # Spark notes what it does a little later. Where it is too busy for that, the latest jobs are missing.
    with suppress(Exception):
        context.listenerBus().waitUntilEmpty(_LATE_MILLISECONDS)
    tracker = context.statusTracker()
    found = {tag: tuple(sorted(tracker.getJobIdsForTag(tag))) for tag in tags}
    return {tag: jobs for tag, jobs in found.items() if jobs}
