"""dbt projects: their models are templates, so that only what stands beside them is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from snowmelt.design.antipatterns.model import Finding, known_antipatterns

_TESTS = ("tests", "data_tests")


def is_dbt(folder: Path) -> bool:
    return (folder / "dbt_project.yml").is_file()


def dbt_findings(folder: Path) -> list[Finding]:
    tested = {name for path in _documents(folder) for name in _tested(path)}
    models = sorted((folder / "models").rglob("*.sql"))
    return [
        Finding(known_antipatterns()["DW-07"], str(path), 1, path.stem, "no test is declared for it")
        for path in models
        if path.stem not in tested
    ]


def _documents(folder: Path) -> Iterator[Path]:
    for pattern in ("*.yml", "*.yaml"):
        yield from sorted((folder / "models").rglob(pattern))


def _tested(path: Path) -> Iterator[str]:
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return
    for model in (data or {}).get("models") or ():
        columns = model.get("columns") or ()
        if any(item.get(word) for item in (model, *columns) for word in _TESTS):
            yield str(model.get("name"))
