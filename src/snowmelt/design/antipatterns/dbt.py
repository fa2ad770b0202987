"""dbt projects: models as the queries they become, their configuration, and the tests that stand beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from snowmelt.core.yaml_text import load_yaml
from snowmelt.design.antipatterns.model import LintFinding, known_antipatterns

_TESTS = ("tests", "data_tests")
_REF = re.compile(r"\{\{-?\s*ref\(\s*(?:'[^']*'\s*,\s*)?['\"]([\w.]+)['\"][^}]*\}\}")
_SOURCE = re.compile(r"\{\{-?\s*source\(\s*['\"][^'\"]*['\"]\s*,\s*['\"]([\w.]+)['\"]\s*\)\s*-?\}\}")
_THIS = re.compile(r"\{\{-?\s*this\s*-?\}\}")
_WHEN_INCREMENTAL = re.compile(r"\{%-?\s*if is_incremental\(\).*?\{%-?\s*endif\s*-?%\}", re.S)
_CONFIG = re.compile(r"\{\{-?\s*config\((.*?)\)\s*-?\}\}", re.S)
_COMMENT = re.compile(r"\{#.*?#\}", re.S)
_TABLE = re.compile(r"\b(?:from|join)\s+([a-z_]\w*\.[a-z_]\w*(?:\.\w+)?)", re.I)


def is_dbt(folder: Path) -> bool:
    return (folder / "dbt_project.yml").is_file()


def dbt_home(path: Path) -> Path | None:
    """The project whose model a file is."""
    return next(
        (folder for folder in path.parents if is_dbt(folder) and "models" in path.relative_to(folder).parts), None
    )


def plain_sql(name: str, text: str) -> str | None:
    """A model as a statement, each line where it was; None where Jinja is left that decides what the query is."""
    query = _COMMENT.sub(_blank, text)
    query = _WHEN_INCREMENTAL.sub(_blank, query)
    query = _CONFIG.sub(_blank, query)
    query = _THIS.sub(name, _REF.sub(r"\1", _SOURCE.sub(r"raw_\1", query)))
    if "{{" in query or "{%" in query:
        return None
    head = query[: len(query) - len(query.lstrip())]
    return f"{head}CREATE VIEW {name} AS {query.strip().rstrip(';')};"


def _blank(found: re.Match[str]) -> str:
    return "\n" * found.group(0).count("\n")


def model_findings(path: Path, text: str) -> Iterator[LintFinding]:
    """What the configuration of a model, and where its rows come from, give away."""
    options = " ".join(_CONFIG.findall(text))
    if "incremental" in options and "unique_key" not in options and "insert_overwrite" not in options:
        yield _finding("PD-01", path, "an incremental model without unique_key appends what comes twice")
    mart = not path.stem.startswith(("stg_", "base_", "raw_")) and "staging" not in path.parts
    if mart and _SOURCE.search(text):
        yield _finding("DW-04", path, "it reads a source past the staging models")
    plain = _COMMENT.sub("", re.sub(r"--[^\n]*", "", text))
    if found := _TABLE.search(plain):
        yield _finding(
            "DO-07", path, f"{found[1]} is written out, so that dbt does not know what it reads: ref or source"
        )


def _finding(identifier: str, path: Path, message: str) -> LintFinding:
    return LintFinding(known_antipatterns()[identifier], str(path), 1, path.stem, message)


def dbt_findings(folder: Path) -> list[LintFinding]:
    tested = {name for path in _documents(folder) for name in _tested(path)}
    models = sorted((folder / "models").rglob("*.sql"))
    return [_finding("DW-07", path, "no test is declared for it") for path in models if path.stem not in tested]


def _documents(folder: Path) -> Iterator[Path]:
    for pattern in ("*.yml", "*.yaml"):
        yield from sorted((folder / "models").rglob(pattern))


def _tested(path: Path) -> Iterator[str]:
    try:
        data: Any = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return
    for model in (data or {}).get("models") or ():
        columns = model.get("columns") or ()
        if any(item.get(word) for item in (model, *columns) for word in _TESTS):
            yield str(model.get("name"))
