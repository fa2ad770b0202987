"""Every metric there is: what it is called, what it means, and what it is told apart by.

The page of the reference, the dashboard and the alert rules are held to this list by tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: MetricKind = MetricKind.GAUGE


@dataclass(frozen=True, slots=True)
class Sample:
    metric: Metric
    labels: tuple[str, ...]
    value: float


_SCHEMA = ("database", "schema")
_TABLE = (*_SCHEMA, "table")
_ANY = (*_SCHEMA, "name", "kind")

BUILD = Metric("snowmelt_build_info", "Always 1; the version is a label.", ("version",))

# -- freshness ----------------------------------------------------------------------------------------------------
BEHIND = Metric("snowmelt_freshness_behind_seconds", "How old the data is: now minus its data timestamp.", _ANY)
LIMIT = Metric(
    "snowmelt_freshness_limit_seconds", "How old it may be: the target lag of a table, the promise of a product.", _ANY
)
SINCE_UPDATE = Metric("snowmelt_freshness_since_update_seconds", "Time since the last update.", _ANY)
INTERVAL = Metric("snowmelt_freshness_expected_interval_seconds", "Time that usually passes between updates.", _ANY)
STATUS = Metric(
    "snowmelt_freshness_status",
    "0 fresh, 1 warning (no update for 1.5 expected intervals), 2 breached, -1 unknown.",
    _ANY,
)
AVAILABILITY = Metric(
    "snowmelt_data_product_availability_ratio", "Share of this month in which the product was within its promise.",
    (*_SCHEMA, "name"),
)  # fmt: skip
AVAILABILITY_TARGET = Metric(
    "snowmelt_data_product_availability_target_ratio", "What the product's tier promises.", (*_SCHEMA, "name")
)

# -- dynamic tables -----------------------------------------------------------------------------------------------
REFRESHES = Metric(
    "snowmelt_refreshes_total", "Refreshes that ended, by how.", (*_TABLE, "state", "action"), MetricKind.COUNTER
)
REFRESH_SECONDS = Metric(
    "snowmelt_refresh_duration_seconds", "How long refreshes took.", ("state", "action"), MetricKind.HISTOGRAM
)
REFRESH_ROWS = Metric(
    "snowmelt_refresh_rows_total", "Rows that refreshes inserted and deleted.", (*_TABLE, "change"), MetricKind.COUNTER
)
REFRESH_LAST_SECONDS = Metric("snowmelt_refresh_last_duration_seconds", "How long the last refresh took.", _TABLE)
REFRESH_FAILURES = Metric("snowmelt_refresh_consecutive_failures", "Scheduled refreshes that failed in a row.", _TABLE)
SUSPENDED = Metric("snowmelt_dynamic_table_suspended", "1 while a dynamic table is suspended.", _TABLE)

# -- tasks and alerts ---------------------------------------------------------------------------------------------
TASK_RUNS = Metric(
    "snowmelt_task_runs_total", "Runs of tasks and alerts that ended, by how.", (*_SCHEMA, "task", "kind", "state"),
    MetricKind.COUNTER,
)  # fmt: skip
TASK_SECONDS = Metric(
    "snowmelt_task_run_duration_seconds",
    "How long runs of tasks and alerts took.",
    ("kind", "state"),
    MetricKind.HISTOGRAM,
)
TASK_FAILURES = Metric("snowmelt_task_consecutive_failures", "Runs that failed in a row.", (*_SCHEMA, "task"))

# -- streams, channels, connectors --------------------------------------------------------------------------------
STREAM_LAG = Metric(
    "snowmelt_stream_lag_seconds", "Age of the oldest change that was not consumed; 0 when there is none.",
    (*_SCHEMA, "stream"),
)  # fmt: skip
STREAM_STALE = Metric(
    "snowmelt_stream_stale_after_seconds", "Time until the stream can't be read any more.", (*_SCHEMA, "stream")
)
CHANNEL_SILENCE = Metric(
    "snowmelt_channel_since_commit_seconds", "Time since a channel last committed rows.", (*_TABLE, "channel")
)
CHANNEL_LATENCY = Metric(
    "snowmelt_channel_latency_seconds", "From a row's acceptance to its visibility, on average over the last minutes.",
    (*_TABLE, "channel"),
)  # fmt: skip
CHANNEL_ROWS = Metric(
    "snowmelt_channel_rows_total",
    "Rows that channels took and refused.",
    (*_TABLE, "channel", "outcome"),
    MetricKind.COUNTER,
)
CONNECTOR_UP = Metric(
    "snowmelt_connector_up", "1 while a connector brings changes; 0 while it fails or tries again.",
    (*_SCHEMA, "connector", "state"),
)  # fmt: skip
CONNECTOR_LAG = Metric(
    "snowmelt_connector_lag_seconds", "How far the last change that landed was behind its source when it did.",
    (*_SCHEMA, "connector"),
)  # fmt: skip
CONNECTOR_SLOT = Metric(
    "snowmelt_connector_slot_bytes", "What the source keeps of its log for the connector.", (*_SCHEMA, "connector")
)
CONNECTOR_SLOT_LIMIT = Metric(
    "snowmelt_connector_slot_warning_bytes", "From how much on that is too much.", (*_SCHEMA, "connector")
)
CONNECTOR_CHANGES = Metric(
    "snowmelt_connector_changes_total", "Changes that landed, and those that could not.",
    (*_SCHEMA, "connector", "outcome"), MetricKind.COUNTER,
)  # fmt: skip

# -- statements and what they run in ------------------------------------------------------------------------------
QUERIES = Metric(
    "snowmelt_queries_total", "Statements that ended, by type and how.", ("type", "status"), MetricKind.COUNTER
)
QUERY_SECONDS = Metric("snowmelt_query_duration_seconds", "How long statements took.", ("type",), MetricKind.HISTOGRAM)
QUERIES_RUNNING = Metric("snowmelt_queries_running", "Statements that run now.")
RECORDS_SET_ASIDE = Metric(
    "snowmelt_records_set_aside_total",
    "Records of the query history and the audit log that could not be stored and were given up.",
    ("of",),
    MetricKind.COUNTER,
)
POOL_USED = Metric("snowmelt_pool_used", "How much of a pool or queue is in use.", ("pool",))
POOL_SIZE = Metric("snowmelt_pool_size", "How much of it there is.", ("pool",))
POOL_LEVEL = Metric("snowmelt_pool_level", "0 below 80 % in use, 1 from 80 %, 2 from 95 %.", ("pool",))
SPARK_SECONDS = Metric(
    "snowmelt_spark_seconds_total",
    "Time in which statements held a warehouse.",
    ("warehouse", "purpose"),
    MetricKind.COUNTER,
)
BYTES_READ = Metric(
    "snowmelt_scanned_bytes_total",
    "Bytes of the tables that statements read.",
    ("warehouse", "purpose"),
    MetricKind.COUNTER,
)

# -- upkeep -------------------------------------------------------------------------------------------------------
UPKEEP_JOBS = Metric(
    "snowmelt_upkeep_jobs_total", "Jobs of upkeep, by kind and how they ended.", ("job", "outcome"), MetricKind.COUNTER
)
UPKEEP_SECONDS = Metric("snowmelt_upkeep_seconds_total", "Time that upkeep took.", ("job",), MetricKind.COUNTER)
UPKEEP_FILES = Metric(
    "snowmelt_upkeep_files_total", "Files that upkeep put together or removed.", ("job",), MetricKind.COUNTER
)
UPKEEP_BYTES = Metric(
    "snowmelt_upkeep_bytes_total",
    "Bytes of the files that upkeep put together or removed.",
    ("job",),
    MetricKind.COUNTER,
)


def _all() -> Iterable[Metric]:
    return (value for value in globals().values() if isinstance(value, Metric))


METRICS = {metric.name: metric for metric in _all()}
