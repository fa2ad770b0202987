"""What happened since the process started, counted when it happens: reading it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as CollectedMetric
from prometheus_client.registry import Collector

from snowmelt.core.names import ObjectName
from snowmelt.observe import metrics
from snowmelt.observe.metrics import Metric, MetricKind, Sample

_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
COUNTED_HERE = frozenset(
    metric.name
    for metric in (
        metrics.QUERIES, metrics.QUERY_SECONDS, metrics.REFRESHES, metrics.REFRESH_SECONDS, metrics.REFRESH_ROWS,
        metrics.REFRESH_LAST_SECONDS, metrics.TASK_RUNS, metrics.TASK_SECONDS, metrics.SPARK_SECONDS,
        metrics.BYTES_READ,
    )
)  # fmt: skip
"""Metrics that begin with the process: one that is not there was not counted yet, and nothing more is known."""
Samples = Callable[[], Iterable[Sample]]


class Meters:
    """Safe to use from several threads. One an account: two accounts in a process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._queries = self._counter(metrics.QUERIES)
        self._query_seconds = self._histogram(metrics.QUERY_SECONDS)
        self._refreshes = self._counter(metrics.REFRESHES)
        self._refresh_seconds = self._histogram(metrics.REFRESH_SECONDS)
        self._refresh_rows = self._counter(metrics.REFRESH_ROWS)
        self._last_refresh = Gauge(
            metrics.REFRESH_LAST_SECONDS.name, metrics.REFRESH_LAST_SECONDS.help, metrics.REFRESH_LAST_SECONDS.labels,
            registry=self._registry,
        )  # fmt: skip
        self._task_runs = self._counter(metrics.TASK_RUNS)
        self._task_seconds = self._histogram(metrics.TASK_SECONDS)
        self._spark_seconds = self._counter(metrics.SPARK_SECONDS)
        self._bytes = self._counter(metrics.BYTES_READ)
        self._upkeep = self._counter(metrics.UPKEEP_JOBS)
        self._upkeep_seconds = self._counter(metrics.UPKEEP_SECONDS)
        self._upkeep_files = self._counter(metrics.UPKEEP_FILES)
        self._upkeep_bytes = self._counter(metrics.UPKEEP_BYTES)

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.help, metric.labels, registry=self._registry)

    def _histogram(self, metric: Metric) -> Histogram:
        return Histogram(metric.name, metric.help, metric.labels, buckets=_BUCKETS, registry=self._registry)

    # -- what happens ---------------------------------------------------------------------------------------------

    def query(self, type_: str, status: str, seconds: float) -> None:
        self._queries.labels(type_, status).inc()
        self._query_seconds.labels(type_).observe(seconds)

    def refresh(
        self, name: ObjectName, state: str, action: str, seconds: float | None, *, inserted: int = 0, deleted: int = 0
    ) -> None:
        """`seconds` is None for one that never began."""
        table = (name.database, name.schema, name.name)
        self._refreshes.labels(*table, state, action).inc()
        if seconds is not None:
            self._refresh_seconds.labels(state, action).observe(seconds)
            self._last_refresh.labels(*table).set(seconds)
        for change, rows in (("inserted", inserted), ("deleted", deleted)):
            if rows:
                self._refresh_rows.labels(*table, change).inc(rows)

    def task(self, name: ObjectName, kind: str, state: str, seconds: float) -> None:
        self._task_runs.labels(name.database, name.schema, name.name, kind, state).inc()
        self._task_seconds.labels(kind, state).observe(seconds)

    def spark(self, warehouse: str, purpose: str, seconds: float, scanned: int) -> None:
        self._spark_seconds.labels(warehouse, purpose).inc(seconds)
        self._bytes.labels(warehouse, purpose).inc(scanned)

    def upkeep(self, job: str, outcome: str, seconds: float, files: int, size: int) -> None:
        self._upkeep.labels(job, outcome).inc()
        self._upkeep_seconds.labels(job).inc(seconds)
        self._upkeep_files.labels(job).inc(files)
        self._upkeep_bytes.labels(job).inc(size)

    # -- reading --------------------------------------------------------------------------------------------------

    def text(self, now: Samples) -> bytes:
        """What Prometheus reads: all that was counted, and `now`, which is asked for this answer alone."""
        answer = CollectorRegistry()
        answer.register(_Counted(self._registry))
        answer.register(_Present(now))
        return generate_latest(answer)

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """What was counted: name, labels, value."""
        for family in self._registry.collect():
            for sample in family.samples:
                yield sample.name, dict(sample.labels), sample.value


class _Counted(Collector):
    """What a registry has, without the instants at which its counters began: they would double the series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[CollectedMetric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family

    def describe(self) -> list[CollectedMetric]:
        return []


class _Present(Collector):
    """Samples that were read for one answer."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def collect(self) -> Iterator[CollectedMetric]:
        found = sorted(self._samples(), key=lambda sample: sample.metric.name)
        for _, same in groupby(found, key=lambda sample: sample.metric.name):
            listed = list(same)
            metric = listed[0].metric
            made = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
            family = made(metric.name, metric.help, labels=metric.labels)
            for sample in listed:
                family.add_metric(sample.labels, sample.value)
            yield family

    def describe(self) -> list[CollectedMetric]:
        """Nothing: registering must not ask for samples."""
        return []
