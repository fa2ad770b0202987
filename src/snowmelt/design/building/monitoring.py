"""What Prometheus and Grafana load for a project: its alerts as rules, and a dashboard of its own.

Rules read two kinds of metrics: those that a run of the project writes (`PIPELINE_METRICS`), and those of the server,
where one keeps the tables fresh.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from snowmelt.design.building.naming import gate_name
from snowmelt.design.model import Alert, Design, StageKind
from snowmelt.design.requirements.amounts import seconds_of
from snowmelt.design.requirements.model import GateSeverity
from snowmelt.observe.monitoring.dashboard import Panel, dashboard

PIPELINE_METRICS = (
    "snowmelt_pipeline_last_run_timestamp_seconds", "snowmelt_pipeline_last_success_timestamp_seconds",
    "snowmelt_pipeline_run_duration_seconds", "snowmelt_pipeline_rows", "snowmelt_pipeline_rejected_rows",
    "snowmelt_pipeline_schema_changes", "snowmelt_pipeline_gate_breaches", "snowmelt_pipeline_published_rows",
    "snowmelt_pipeline_reconciliation_differences",
)  # fmt: skip
"""As src/<package>/utils/metrics.py writes them."""
_LABELS = {GateSeverity.WARN: "warning", GateSeverity.ERROR: "error", GateSeverity.CRITICAL: "critical"}
_METRICS_PORT = 8085


def monitoring_files(design: Design) -> Iterator[tuple[str, str]]:
    rules = {"groups": [{"name": design.name.lower(), "rules": list(_rules(design))}]}
    yield "monitoring/alert_rules.yml", f"# Alert rules for Prometheus.\n{_yaml(rules)}"
    board = dashboard(_rows(design), title=design.name, uid=f"snowmelt-{design.name.lower()}"[:40])
    yield "monitoring/dashboard.json", json.dumps(board, indent=2) + "\n"
    yield "monitoring/prometheus.yml", _scraping(design)


def _rules(design: Design) -> Iterator[dict[str, Any]]:
    pipeline = f'pipeline="{design.name.lower()}"'
    limit = seconds_of(design.service_level.alert_after)
    yield _rule(
        "RunOverdue", f"time() - snowmelt_pipeline_last_success_timestamp_seconds{{{pipeline}}} > {limit:g}",
        GateSeverity.ERROR, f"{design.name}: no run succeeded for {design.service_level.alert_after}",
        "Look at the log of the last run, and run it again: `make run`.",
    )  # fmt: skip
    gates = {_gate_alert(design, index): gate_name(index, gate) for index, gate in enumerate(design.quality, start=1)}
    for alert in design.alerts:
        expression = _expression(design, alert, pipeline, gates.get(alert.name))
        if expression is not None:
            yield _rule(_camel(alert.name), expression, alert.severity, f"{design.name}: {alert.condition}",
                        f"Channel: {alert.channel}. What to do is in data-pipeline-spec.md, Runbook.")  # fmt: skip


def _gate_alert(design: Design, index: int) -> str:
    rule = design.quality[index - 1].rule
    return f"gate_{rule.check}_{rule.table}_{index}"


def _expression(design: Design, alert: Alert, pipeline: str, gate: str | None) -> str | None:
    if gate is not None:
        return f'snowmelt_pipeline_gate_breaches{{{pipeline},gate="{gate}"}} > 0'
    if alert.name.startswith("stale_"):
        limit = seconds_of(design.service_level.alert_after)
        return f'snowmelt_freshness_behind_seconds{{name="{alert.name.removeprefix("stale_").upper()}"}} > {limit:g}'
    if alert.name.startswith("p99_"):
        # Of a table that a server keeps; without one, of how old the last good run is.
        promised, limit = seconds_of(design.service_level.freshness), seconds_of(design.service_level.alert_after)
        table = alert.name.removeprefix("p99_").upper()
        behind = f'quantile_over_time(0.99, snowmelt_freshness_behind_seconds{{name="{table}"}}[1d])'
        age = f"time() - snowmelt_pipeline_last_success_timestamp_seconds{{{pipeline}}}"
        return f"{behind} > {promised:g} or quantile_over_time(0.99, ({age})[1d:1m]) > {limit:g}"
    if alert.name.startswith("slot_"):
        return f'snowmelt_connector_up{{connector="{alert.name.removeprefix("slot_").upper()}"}} == 0'
    made = [stage.name for stage in design.stages if stage.kind is not StageKind.TABLE]
    computed = "|".join(name.upper() for name in (*design.models, *made))
    return {
        "refresh_failed": f'snowmelt_refresh_consecutive_failures{{table=~"{computed}"}} > 0',
        "resources_80": "snowmelt_pool_level >= 1",
        "resources_95": "snowmelt_pool_level >= 2",
        "dead_letters": f"snowmelt_pipeline_rejected_rows{{{pipeline}}} > 0",
        "schema_drift": f"snowmelt_pipeline_schema_changes{{{pipeline}}} > 0",
    }.get(alert.name)


def _rule(name: str, expression: str, severity: GateSeverity, summary: str, description: str) -> dict[str, Any]:
    return {
        "alert": name, "expr": expression, "labels": {"severity": _LABELS[severity]},
        "annotations": {"summary": summary, "description": description},
    }  # fmt: skip


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _rows(design: Design) -> tuple[tuple[str, tuple[Panel, ...]], ...]:
    pipeline = f'pipeline="{design.name.lower()}"'
    tables = "|".join(name.upper() for name in (*design.models, *(stage.name for stage in design.stages)))
    age = f"time() - snowmelt_pipeline_last_success_timestamp_seconds{{{pipeline}}}"
    rows = f"snowmelt_pipeline_rows{{{pipeline}}}"
    behind = f'snowmelt_freshness_behind_seconds{{name=~"{tables}"}}'
    duration = f"snowmelt_pipeline_run_duration_seconds{{{pipeline}}}"
    promise = f"The promise is {design.service_level.freshness}."
    return (
        ("Runs", (
            Panel("Since the last good run", ((age, "age"),), "s", promise, "stat", 6),
            Panel("Duration of a run", ((duration, "run"),), "s", width=9),
            Panel("Rows of a run", ((rows, "{{flow}}"),), width=9),
        )),
        ("Quality", (
            Panel("Broken gates", ((f"snowmelt_pipeline_gate_breaches{{{pipeline}}} > 0", "{{gate}}"),), width=12),
            Panel("Rejected records", ((f"snowmelt_pipeline_rejected_rows{{{pipeline}}}", "{{flow}}"),), width=6),
            Panel("Changed columns", ((f"snowmelt_pipeline_schema_changes{{{pipeline}}}", "{{flow}}"),), width=6),
        )),
        ("Tables", (
            Panel("How old data is", ((behind, "{{name}}"),), "s", promise, width=12),
            Panel("Sent to sinks", ((f"snowmelt_pipeline_published_rows{{{pipeline}}}", "{{sink}}"),), width=12),
        )),
    )  # fmt: skip


def _scraping(design: Design) -> str:
    """Runs leave their metrics in a file, which the node exporter's textfile collector serves."""
    name = design.name.lower()
    data = {
        "rule_files": ["alert_rules.yml"],
        "scrape_configs": [
            {"job_name": f"{name}-runs", "static_configs": [{"targets": ["localhost:9100"]}]},
            {"job_name": f"{name}-server", "static_configs": [{"targets": [f"localhost:{_METRICS_PORT}"]}]},
        ],
    }  # fmt: skip
    return (
        "# A run writes data/metrics/*.prom: start the node exporter with --collector.textfile.directory there.\n"
        f"# The second job is for a server (`snowmelt serve`), if one keeps the tables fresh.\n{_yaml(data)}"
    )


def _yaml(data: Any) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))
