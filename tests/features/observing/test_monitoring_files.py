"""Alert rules and the dashboard: the real programs take them, and they name metrics that exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.core.clock import ManualClock
from snowmelt.observe.metrics import METRICS, MetricKind
from snowmelt.observe.monitoring.exporting import DASHBOARD, RULES
from snowmelt.runtime.account import Account
from tests.features.observing.scraping import text
from tests.support.promtool import checked

_PARTS = ("_bucket", "_sum", "_count")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    folder = tmp_path / "monitoring"
    assert CliRunner().invoke(app, ["monitoring", "export", str(folder)]).exit_code == 0
    return folder


def _selected(node: Any) -> Iterator[str]:
    """The names of all metrics in a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node.name
    for field in ("expr", "lhs", "rhs", "args", "param", "vector_selector"):
        below = getattr(node, field, None)
        for each in below if isinstance(below, list) else [below]:
            if each is not None and not isinstance(each, str | float | int):
                yield from _selected(each)


def _expressions(folder: Path) -> list[str]:
    rules = yaml.safe_load((folder / RULES).read_text())
    board = json.loads((folder / DASHBOARD).read_text())
    return [
        *(rule["expr"] for group in rules["groups"] for rule in group["rules"]),
        *(target["expr"] for panel in board["panels"] for target in panel.get("targets", ())),
    ]


def test_every_metric_in_rules_and_dashboard_exists(exported: Path) -> None:
    found = [name for text in _expressions(exported) for name in _selected(promql_parser.parse(text))]
    assert len(found) > 50
    for name in found:
        base = next((name.removesuffix(part) for part in _PARTS if name.removesuffix(part) in METRICS), name)
        assert base in METRICS, name
        assert (base != name) is (METRICS[base].kind is MetricKind.HISTOGRAM), name


def test_rules_say_how_bad_it_is_and_what_to_do(exported: Path) -> None:
    for group in yaml.safe_load((exported / RULES).read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
            assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]


def test_panels_have_places_of_their_own(exported: Path) -> None:
    panels = json.loads((exported / DASHBOARD).read_text())["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)


# -- the real program -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_prometheus_takes_rules_configuration_and_metrics(promtool: str, exported: Path, opened: Account) -> None:
    session = opened.session()
    session.execute("CREATE TABLE t (id INT)")
    session.execute("CREATE DATA PRODUCT p OBJECTS = (t) FRESHNESS = '1 hour'")
    session.execute("INSERT INTO t VALUES (1)")
    checked(promtool, "check", "rules", str(exported / RULES))
    checked(promtool, "check", "config", str(exported / "prometheus.yml"))
    checked(promtool, "check", "metrics", given=text(opened))


_BREACH = """
rule_files: [snowmelt-alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'snowmelt_freshness_behind_seconds{name="T",kind="TABLE"}'
        values: '60+60x10'
      - series: 'snowmelt_freshness_limit_seconds{name="T",kind="TABLE"}'
        values: '300x10'
      - series: 'snowmelt_pool_level{pool="statements"}'
        values: '2x10'
    alert_rule_test:
      - eval_time: 3m
        alertname: SnowmeltFreshnessBreached
      - eval_time: 8m
        alertname: SnowmeltPoolFull
        exp_alerts:
          - exp_labels: {severity: critical, pool: statements}
            exp_annotations:
              summary: 'Pool statements is used to 95 % or more'
              description: 'What does not fit waits or is refused.'
    promql_expr_test:
      - expr: count(ALERTS{alertname="SnowmeltFreshnessBreached",alertstate="firing"})
        eval_time: 8m
        exp_samples: [{labels: '{}', value: 1}]
"""


@pytest.mark.slow
def test_rules_fire_when_they_should(promtool: str, exported: Path, clock: ManualClock) -> None:
    (exported / "breach.yml").write_text(_BREACH)
    checked(promtool, "test", "rules", str(exported / "breach.yml"))
