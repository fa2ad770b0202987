"""The files of a project from a design. Each is complete: nothing is left to fill in but where the sources are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import yaml

from snowmelt.core import errors
from snowmelt.design.building.fixtures import fixture
from snowmelt.design.building.spec import specification
from snowmelt.design.model import Design, DesignSource, Gate, SourceTable, Stage, StageKind
from snowmelt.design.requirements.model import PiiStrategy, SinkKind, SourceKind
from snowmelt.design.requirements.reading import to_yaml

SOURCES = (SourceKind.POSTGRES, SourceKind.FILES)
WAYS = ("watermark", "snapshot", "files")
_MARK = re.compile(r"<<(\w+)>>")
_PACKAGE_FILES = {
    "__main__.py": "main.py", "pipeline.py": "pipeline.py", "utils/config.py": "config.py",
    "utils/definitions.py": "definitions.py", "utils/logs.py": "logs.py", "extractors/base.py": "extractors_base.py",
    "extractors/__init__.py": "extractors_init.py", "transformers/base.py": "transformers_base.py",
    "transformers/__init__.py": "transformers_init.py", "loaders/base.py": "loaders_base.py",
    "loaders/__init__.py": "loaders_init.py", "quality/base.py": "quality_base.py",
    "quality/__init__.py": "quality_init.py",
}  # fmt: skip
_PROJECT_FILES = {
    "Makefile": "Makefile", "README.md": "README.md", "pyproject.toml": "pyproject.toml",
    "orchestration/airflow_dag.py": "airflow_dag.py", "docker/Dockerfile": "Dockerfile",
    "docker/compose.yaml": "compose.yaml", "tests/unit/test_parts.py": "test_unit.py",
    "tests/integration/test_run.py": "test_integration.py",
}  # fmt: skip
_DEAD_LETTERS = (
    "CREATE TABLE IF NOT EXISTS dead_letters (\n  flow VARCHAR NOT NULL,\n  reason VARCHAR NOT NULL,\n"
    "  record VARIANT NOT NULL,\n  origin VARCHAR NOT NULL,\n  source_position VARCHAR NOT NULL,\n"
    "  run_id VARCHAR NOT NULL,\n  loaded_at TIMESTAMP_LTZ NOT NULL\n)\n"
    "COMMENT = 'Records that could not be understood, with the reason.'"
)


def project_files(design: Design) -> dict[str, str]:
    """By path. The same design gives the same files. Raises for what can't be built yet, naming it."""
    _check(design)
    package = design.name.lower()
    words = {
        "package": package, "project": package.replace("_", "-"), "title": _title(design),
        "description": design.description or _title(design), "cron": _cron(design),
    }  # fmt: skip
    found = {path: _filled(name, words) for path, name in _PROJECT_FILES.items()}
    found |= {f"src/{package}/{path}": _filled(name, words) for path, name in _PACKAGE_FILES.items()}
    found |= {f"src/{package}/__init__.py": f'"""{_title(design)}"""\n', f"src/{package}/py.typed": ""}
    found |= {f"src/{package}/utils/__init__.py": '"""Configuration, definitions and logs."""\n'}
    found |= dict(_sql(design)) | dict(_configuration(design)) | dict(_monitoring(design))
    found |= {f"tests/fixtures/{name}.json": text for name, text in _fixtures(design)}
    found |= {"design.yaml": to_yaml(design), "data-pipeline-spec.md": specification(design)}
    return dict(sorted(found.items()))


def _check(design: Design) -> None:
    problems = [f"source {item.name} of kind {item.kind}" for item in design.sources if item.kind not in SOURCES]
    problems += [f"source {item.name} by {item.capture.way}" for item in design.sources if item.capture.way not in WAYS]
    problems += [f"sink {item.name} of kind {item.kind}" for item in design.sinks if item.kind is not SinkKind.SNOWMELT]
    if problems:
        raise errors.configuration(
            f"Not built yet: {'; '.join(problems)}.",
            hint="Built are postgres (by watermark or snapshot) and files, into tables of Snowmelt.",
        )


def _filled(name: str, words: dict[str, str]) -> str:
    folder = files("snowmelt.design.building").joinpath("templates")
    text = folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return _MARK.sub(lambda found: words[found.group(1)], text)


def _title(design: Design) -> str:
    ends = ", ".join(sink.name for sink in design.sinks)
    return f"{', '.join(source.name for source in design.sources)} to {ends}, within {design.service_level.freshness}"


def _cron(design: Design) -> str:
    """Five fields; the time zone of a design's cron is UTC, which is Airflow's too."""
    return " ".join((design.schedule.cron or "*/5 * * * *").split()[:5])


# -- SQL --------------------------------------------------------------------------------------------------------------


def _sql(design: Design) -> Iterator[tuple[str, str]]:
    yield "sql/snowmelt.toml", f'[project]\nname = "{design.name.lower()}"\n'
    yield "sql/staging/00_dead_letters.sql", f"{_DEAD_LETTERS};\n"
    numbers = {"bronze": 0, "silver": 0, "gold": 0}
    for stage in design.stages:
        numbers[stage.layer] += 1
        folder = "transformations" if stage.layer == "gold" else "staging"
        prefix = {"bronze": 1, "silver": 2, "gold": 3}[stage.layer]
        yield f"sql/{folder}/{prefix}{numbers[stage.layer]:02}_{stage.name.lower()}.sql", f"{_repeatable(stage)};\n"
    for number, gate in enumerate(design.quality, start=1):
        name = f"{number:02}_{gate.rule.check}_{gate.rule.table.lower()}"
        yield f"sql/_quality_checks/{name}.sql", f"-- severity: {gate.rule.severity}\n{_reading(gate)}\n"


def _repeatable(stage: Stage) -> str:
    """Raw tables are made once; the others become what the file says, and an equal one stays as it is."""
    if stage.kind is StageKind.TABLE:
        return stage.sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)
    return stage.sql.replace("CREATE ", "CREATE OR ALTER ", 1)


def _reading(gate: Gate) -> str:
    return gate.sql.replace(" FROM ", "\nFROM ", 1)


# -- configuration ----------------------------------------------------------------------------------------------------


def _flows(design: Design) -> Iterator[tuple[DesignSource, SourceTable, str]]:
    """Each with its name, which is also that of its channel and its fixture."""
    for source in design.sources:
        for table in source.tables:
            yield source, table, table.stage.removeprefix("raw_")


def _clean_table(design: Design, table: SourceTable) -> str:
    return next(stage.name for stage in design.stages if stage.layer == "silver" and table.stage in stage.reads)


def _configuration(design: Design) -> Iterator[tuple[str, str]]:
    strategy = design.pii.strategy if design.pii is not None else None
    # What is hidden in the clean tables by SQL may be landed; only what must be dropped is not.
    on_the_way = strategy is PiiStrategy.DROP or design.decision("transform").outcome == "ETL"
    flows = []
    for source, table, name in _flows(design):
        protected = [column.name for column in table.columns if column.pii] if on_the_way else []
        flow: dict[str, Any] = {
            "name": name, "source": source.name, "kind": str(source.kind), "connection": source.connection,
            "table": table.name, "raw": table.stage, "clean": _clean_table(design, table), "key": list(table.key),
            "change_column": table.change_column if source.capture.way == "watermark" else None,
            "protect": protected, "strategy": str(strategy) if protected and strategy else None,
        }  # fmt: skip
        flows.append({key: value for key, value in flow.items() if value not in (None, [])})
    tables = [stage.name for stage in design.stages if stage.kind is not StageKind.TABLE]
    data = {"flows": flows, "tables": tables, "dead_letters": "dead_letters"}
    yield "config/pipeline_config.yaml", _yaml(data)
    connections = {source.name: {"kind": str(source.kind), "from": source.connection} for source in design.sources}
    yield "config/connections.yaml.example", _yaml(connections)
    yield ".env.example", "".join(_environment(source) for source in design.sources) or "# no secret is needed\n"
    yield ".gitignore", ".env\n.venv/\ndata/\n__pycache__/\n.mypy_cache/\n.ruff_cache/\n.pytest_cache/\n"
    yield "orchestration/crontab", f"{_cron(design)} cd $HOME/{design.name.lower()} && make run\n"


def _environment(source: DesignSource) -> str:
    if not source.connection.isupper():
        return ""
    example = "postgresql://user:password@host:5432/database" if source.kind is SourceKind.POSTGRES else "incoming"
    return f"# where {source.name} is\n{source.connection}={example}\n"


def _monitoring(design: Design) -> Iterator[tuple[str, str]]:
    yield (
        "monitoring/alerts.yaml",
        _yaml({"alerts": [item.model_dump(mode="json", exclude_none=True) for item in design.alerts]}),
    )
    panels = [{"title": item.name, "sql": item.sql, "warn_above": 0} for item in design.alerts if item.sql is not None]
    yield "monitoring/dashboard.json", json.dumps({"title": design.name, "panels": panels}, indent=2) + "\n"


def _fixtures(design: Design) -> Iterator[tuple[str, str]]:
    for _, table, name in _flows(design):
        yield name, json.dumps(fixture(table), indent=2) + "\n"


def _yaml(data: Any) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))
