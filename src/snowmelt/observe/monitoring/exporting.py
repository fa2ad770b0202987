"""Writing what Prometheus and Grafana load into a folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from snowmelt.observe.monitoring.dashboard import dashboard_json

RULES = "snowmelt-alerts.yml"
DASHBOARD = "snowmelt-dashboard.json"
_TEXTS = (RULES, "prometheus.yml")


def export(folder: Path) -> list[Path]:
    """The files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {name: files(__package__).joinpath(name).read_text(encoding="utf-8") for name in _TEXTS}
    written: list[Path] = []
    for name, text in {**texts, DASHBOARD: dashboard_json()}.items():
        target = folder / name
        target.write_text(text, encoding="utf-8")
        written.append(target)
    return written
