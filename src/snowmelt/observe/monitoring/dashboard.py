"""The Grafana dashboard, built from a short list of what each panel shows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    queries: tuple[tuple[str, str], ...]
    """PromQL, and how a series is called."""
    unit: str = "short"
    description: str = ""
    kind: str = "timeseries"
    width: int = 8


_OBJECT = "{{kind}} {{schema}}.{{name}}"
Rows = tuple[tuple[str, tuple[Panel, ...]], ...]
"""Headings, each with its panels."""
_ROWS: Rows = (
    (
        "Freshness",
        (
            Panel(
                "Breached",
                (("count(snowmelt_freshness_status == 2) or vector(0)", "breached"),),
                kind="stat",
                width=4,
                description="Tables and products whose data is older than promised.",
            ),
            Panel(
                "Overdue",
                (("count(snowmelt_freshness_status == 1) or vector(0)", "overdue"),),
                kind="stat",
                width=4,
                description="No update for 1.5 of the usual intervals.",
            ),
            Panel("How old data is", (("snowmelt_freshness_behind_seconds", _OBJECT),), "s"),
            Panel(
                "Share of the limit in use",
                (("snowmelt_freshness_behind_seconds / snowmelt_freshness_limit_seconds", _OBJECT),),
                "percentunit",
            ),
            Panel(
                "Availability this month",
                (
                    ("snowmelt_data_product_availability_ratio", "{{schema}}.{{name}}"),
                    ("snowmelt_data_product_availability_target_ratio", "target of {{schema}}.{{name}}"),
                ),
                "percentunit",
                width=12,
            ),
            Panel(
                "Time since the last update, in usual intervals",
                (("snowmelt_freshness_since_update_seconds / snowmelt_freshness_expected_interval_seconds", _OBJECT),),
                width=12,
                description="From 1.5 on it is overdue.",
            ),
        ),
    ),
    (
        "Refreshes and tasks",
        (
            Panel(
                "Refreshes",
                (("sum by (state, action) (rate(snowmelt_refreshes_total[5m]))", "{{state}} {{action}}"),),
                "ops",
            ),
            Panel(
                "Duration of refreshes",
                (
                    (
                        "histogram_quantile(0.5, sum by (le) (rate(snowmelt_refresh_duration_seconds_bucket[10m])))",
                        "p50",
                    ),
                    (
                        "histogram_quantile(0.95, sum by (le) (rate(snowmelt_refresh_duration_seconds_bucket[10m])))",
                        "p95",
                    ),
                ),
                "s",
            ),
            Panel(
                "Slowest tables", (("topk(10, snowmelt_refresh_last_duration_seconds)", "{{schema}}.{{table}}"),), "s"
            ),
            Panel(
                "Rows changed", (("sum by (change) (rate(snowmelt_refresh_rows_total[5m]))", "{{change}}"),), "rowsps"
            ),
            Panel(
                "Failures in a row",
                (
                    ("snowmelt_refresh_consecutive_failures > 0", "{{schema}}.{{table}}"),
                    ("snowmelt_task_consecutive_failures > 0", "task {{schema}}.{{task}}"),
                ),
            ),
            Panel(
                "Runs of tasks and alerts",
                (("sum by (kind, state) (rate(snowmelt_task_runs_total[5m]))", "{{kind}} {{state}}"),),
                "ops",
            ),
        ),
    ),
    (
        "Ingest",
        (
            Panel("Stream lag", (("snowmelt_stream_lag_seconds", "{{schema}}.{{stream}}"),), "s"),
            Panel("Channel latency", (("snowmelt_channel_latency_seconds", "{{table}} {{channel}}"),), "s"),
            Panel(
                "Channel rows", (("sum by (outcome) (rate(snowmelt_channel_rows_total[5m]))", "{{outcome}}"),), "rowsps"
            ),
            Panel("Connector lag", (("snowmelt_connector_lag_seconds", "{{schema}}.{{connector}}"),), "s"),
            Panel(
                "Replication slots",
                (
                    ("snowmelt_connector_slot_bytes", "{{connector}}"),
                    ("snowmelt_connector_slot_warning_bytes", "limit of {{connector}}"),
                ),
                "bytes",
            ),
            Panel(
                "Changes landed",
                (
                    (
                        "sum by (connector, outcome) (rate(snowmelt_connector_changes_total[5m]))",
                        "{{connector}} {{outcome}}",
                    ),
                ),
                "ops",
            ),
        ),
    ),
    (
        "Statements and resources",
        (
            Panel(
                "Statements",
                (("sum by (type, status) (rate(snowmelt_queries_total[5m]))", "{{type}} {{status}}"),),
                "ops",
            ),
            Panel(
                "Duration of statements, p90",
                (
                    (
                        "histogram_quantile(0.9, sum by (type, le) (rate(snowmelt_query_duration_seconds_bucket[5m])))",
                        "{{type}}",
                    ),
                ),
                "s",
            ),
            Panel(
                "Pools and queues in use",
                (("snowmelt_pool_used / snowmelt_pool_size", "{{pool}}"),),
                "percentunit",
                description="Warning from 80 %, critical from 95 %.",
            ),
            Panel(
                "Spark time by warehouse",
                (
                    (
                        "sum by (warehouse, purpose) (rate(snowmelt_spark_seconds_total[5m]))",
                        "{{warehouse}} {{purpose}}",
                    ),
                ),
                "percentunit",
                width=12,
            ),
            Panel(
                "Bytes read",
                (
                    (
                        "sum by (warehouse, purpose) (rate(snowmelt_scanned_bytes_total[5m]))",
                        "{{warehouse}} {{purpose}}",
                    ),
                ),
                "Bps",
                width=12,
            ),
        ),
    ),
)


def dashboard(rows: Rows = _ROWS, title: str = "Snowmelt", uid: str = "snowmelt") -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    y = 0
    for heading, row in rows:
        panels.append(_heading(len(panels) + 1, heading, y))
        y += 1
        x = 0
        for panel in row:
            if x + panel.width > _WIDTH:
                x, y = 0, y + 8
            panels.append(_panel(len(panels) + 1, panel, x, y))
            x += panel.width
        y += 8
    return {
        "uid": uid,
        "title": title,
        "tags": ["snowmelt"],
        "timezone": "browser",
        "editable": True,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]
        },
        "panels": panels,
    }


def dashboard_json() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


def _heading(id: int, title: str, y: int) -> dict[str, Any]:
    return {"id": id, "type": "row", "title": title, "collapsed": False, "panels": [],
            "gridPos": {"x": 0, "y": y, "w": _WIDTH, "h": 1}}  # fmt: skip


def _panel(id: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    return {
        "id": id,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": 8},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(panel.queries)
        ],
    }
