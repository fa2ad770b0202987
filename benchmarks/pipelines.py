"""Spark's declarative pipelines (`pyspark.pipelines`): queries as materialized views, which a run brings up to date.

Pipelines exist only in Spark Connect. So that the start of a process and of a JVM is in no measurement, a Connect
server is started inside the Spark application that everything else runs in, and runs are started in it with the
functions that the command `spark-pipelines run` calls. An update is one such run of a graph that is already defined and
has nothing but one materialized view. What the command takes as a whole is measured apart.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.pipelines import materialized_view
from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from benchmarks.tpch.queries import query_text
from benchmarks.tpch.tables import TABLES
from benchmarks.workbench import SPARK_DEFAULTS, Workbench
from snowmelt.engine.jars import ensure_jars

_DATABASE = "pipelines"
_HOST = "127.0.0.1"
_RUN_COMPLETED = "Run is COMPLETED."
_COMMAND_SECONDS = 900
_DELTA = {"spark.sql.sources.default": "delta"}
"""How the views become Delta tables. With `format="delta"` only the first run works: the next one sets the property
`provider` of the table that is there, and Delta answers DELTA_CANNOT_CHANGE_PROVIDER."""
_SETTINGS = {**SPARK_DEFAULTS, **_DELTA}
_SHARED_SETTINGS = ("spark.sql.shuffle.partitions", "spark.sql.session.timeZone")
_DEFINITIONS = """\
from pyspark import pipelines
from pyspark.sql import SparkSession

spark = SparkSession.active()


def define_source(name, path):
    @pipelines.temporary_view(name=name)
    def source():
        return spark.read.format("delta").load(path)


for name, path in {sources!r}.items():
    define_source(name, path)


@pipelines.materialized_view(name={name!r})
def result():
    return spark.sql({query!r})
"""
_SPEC = """\
name: benchmark
storage: {storage}
libraries:
  - glob:
      include: definitions.py
"""


class Pipelines:
    """A pipeline of one materialized view, a Delta table, for each query over the Delta tables Snowmelt writes."""

    def __init__(self, bench: Workbench, names: Sequence[str]) -> None:
        self._bench = bench
        self._session = _connect(bench)
        self.waits: list[float] = []
        """For each run: the milliseconds from the table's new rows to the end of the run."""
        bench.plain.sql(f"CREATE DATABASE IF NOT EXISTS {_DATABASE}")
        for table in TABLES:
            path = bench.snowmelt_path(table)
            bench.plain.sql(f"CREATE TABLE IF NOT EXISTS {_DATABASE}.{table} USING delta LOCATION '{path}'")
        for name in names:
            bench.step(f"creating {name}, a materialized view")
            self.update(name)

    def _define(self, name: str) -> str:
        graph = create_dataflow_graph(self._session, "spark_catalog", _DATABASE, _SETTINGS)
        with graph_element_registration_context(SparkConnectGraphElementRegistry(self._session, graph)):
            define = materialized_view(name=_view(name))
            define(lambda: self._session.sql(query_text(name, self._bench.scale)))
        return graph

    def update(self, name: str) -> float:
        """One run of the query's pipeline: milliseconds until the table has its new rows.

        By the event's own time: a run ends up to a second after the rows are there. One that fails raises what Spark
        says of it.
        """
        # Before the clock starts: Spark runs a graph once, and a client that stays could define the next in advance.
        graph = self._define(name)
        started = time.time() * 1000
        events = start_run(
            self._session,
            graph,
            full_refresh=[],
            full_refresh_all=False,
            refresh=[],
            dry=False,
            storage=(self._bench.folder("pipelines") / name).as_uri(),
        )
        happened = dict(_event(event) for event in events)
        assert _RUN_COMPLETED in happened, happened
        completed = happened[f"Flow spark_catalog.{_DATABASE}.{_view(name)} has COMPLETED."]
        self.waits.append(happened[_RUN_COMPLETED] - completed)
        return completed - started

    def rows(self, name: str) -> list[tuple[object, ...]]:
        return self._bench.plain_rows(f"SELECT * FROM {_DATABASE}.{_view(name)}")


def run_command(bench: Workbench, name: str) -> None:
    """The whole command, as a user types it: a new process, a new JVM, the view's first computation, and the end."""
    project = bench.folder(f"command-{name}")
    query = query_text(name, bench.scale)
    sources = {table: bench.snowmelt_path(table) for table in TABLES if re.search(rf"\b{table}\b", query)}
    (project / "definitions.py").write_text(
        _DEFINITIONS.format(sources=sources, name=_view(name), query=query), encoding="utf-8"
    )
    (project / "spark-pipeline.yaml").write_text(_SPEC.format(storage=(project / "storage").as_uri()), encoding="utf-8")
    settings = {
        "spark.jars": ",".join(str(path) for path in ensure_jars()),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": (project / "warehouse").as_uri(),
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        **{key: str(bench.plain.conf.get(key)) for key in _SHARED_SETTINGS},
        **_DELTA,
    }
    # In a file, because options of the command do not reach the JVM that its Python process starts.
    (project / "spark-defaults.conf").write_text(
        "".join(f"{key} {value}\n" for key, value in settings.items()), encoding="utf-8"
    )
    # Without --remote it would use one core.
    _call(["--remote", "local[*]", "run", "--spec", str(project / "spark-pipeline.yaml")], project)


def _call(arguments: Sequence[str], folder: Path) -> None:
    command = [str(Path(sys.executable).with_name("spark-pipelines")), *arguments]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_COMMAND_SECONDS
    )
    if done.returncode != 0 or _RUN_COMPLETED not in done.stdout + done.stderr:
        raise RuntimeError(f"spark-pipelines failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def _connect(bench: Workbench) -> SparkSession:
    """A Connect client of the benchmark's own Spark application, with the settings of its plain session."""
    context = bench.plain.sparkContext
    # Asked for beforehand: the service does not tell which port it took.
    with socket.create_server((_HOST, 0)) as free:
        port = free.getsockname()[1]
    settings = context._jsc.sc().conf()
    # Whoever reaches the port may run anything, so it must not be open to other machines.
    settings.set("spark.connect.grpc.binding.address", _HOST)
    settings.set("spark.connect.grpc.binding.port", str(port))
    jvm = context._jvm
    assert jvm is not None
    service = jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(context._jsc.sc())
    bench.at_close(lambda: service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty()))
    session = ConnectSession.builder.remote(f"sc://{_HOST}:{port}").create()
    bench.at_close(session.stop)
    for key, value in _SETTINGS.items():
        session.conf.set(key, value)
    return session  # type: ignore[return-value]


def _event(answer: Mapping[str, Any]) -> tuple[str, float]:
    """An event's message and its time, in milliseconds. The end of the answers is none, and has neither."""
    result = answer.get("pipeline_event_result")
    return ("", 0.0) if result is None else (result.event.message, result.event.timestamp.ToNanoseconds() / 1e6)


def _view(name: str) -> str:
    return f"view_{name}"
