"""The files of a project from a design. Each is complete: nothing is left open but where sources and sinks are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from snowmelt.design.building.contracts import contract_files, made_from_tables
from snowmelt.design.building.environment import environment_example
from snowmelt.design.building.fixtures import change_fixture, fixture, model_fixture, rules_of
from snowmelt.design.building.gate_tests import example_tests, gate_tests
from snowmelt.design.building.monitoring import monitoring_files
from snowmelt.design.building.parts import KEYED, RECONCILE_SECONDS, Parts, parts_of, poll_seconds
from snowmelt.design.building.playbook import playbook
from snowmelt.design.building.spec import specification
from snowmelt.design.building.statements import quarantining, sql_files
from snowmelt.design.building.templating import filled
from snowmelt.design.making.designing import cron_for
from snowmelt.design.model import Design, StageKind
from snowmelt.design.output.dbt import dbt_files
from snowmelt.design.requirements.amounts import seconds_of
from snowmelt.design.requirements.model import GateSeverity, Recipe, SourceKind
from snowmelt.design.requirements.reading import to_yaml
from snowmelt.extract_load.sources.registry import SOURCES

ATTEMPTS = 5
_STREAMING = ("streaming", "hybrid")
_HOUR = 3600
_SHORT = 50
_PROJECT_FILES = {
    ".dockerignore": "dockerignore", ".gitignore": "gitignore", "Makefile": "Makefile", "README.md": "README.md",
    "docker/Dockerfile": "Dockerfile", "docker/compose.yaml": "compose.yaml",
    "pyproject.toml": "pyproject.toml",
    "tests/integration/test_gates.py": "test_gates.py",
    "tests/integration/test_run.py": "test_integration.py", "tests/unit/test_parts.py": "test_unit.py",
}  # fmt: skip
_PACKAGE_FILES = {
    "__main__.py": "main.py",
    "extractors/__init__.py": "extractors_init.py", "extractors/base.py": "extractors_base.py",
    "loaders/__init__.py": "loaders_init.py", "loaders/base.py": "loaders_base.py", "pipeline.py": "pipeline.py",
    "quality/__init__.py": "quality_init.py", "quality/base.py": "quality_base.py",
    "transformers/__init__.py": "transformers_init.py", "transformers/base.py": "transformers_base.py",
    "utils/alerts.py": "alerts.py", "utils/config.py": "config.py", "utils/definitions.py": "definitions.py",
    "utils/errors.py": "errors.py", "utils/logs.py": "logs.py", "utils/metrics.py": "metrics.py",
}  # fmt: skip


def project_files(design: Design) -> dict[str, str]:
    """The files by path. The same design gives the same files. Raises for what can't be built, naming it."""
    parts = parts_of(design)
    package = design.name.lower()
    words, flags = _words(design, parts), _flags(design, parts)
    found = {path: filled(name, words, flags) for path, name in _templates(design, parts).items()}
    found |= {
        f"src/{package}/__init__.py": f'"""{design.name}: a pipeline that was built by `snowmelt build`."""\n',
        f"src/{package}/py.typed": "",
    }
    found |= {f"src/{package}/utils/__init__.py": '"""Configuration, definitions, logs, metrics and alerts."""\n'}
    found |= dict(contract_files(design)) | dict(gate_tests(design)) | dict(example_tests(design))
    found |= dict(sql_files(design)) | dict(_configuration(design, parts)) | dict(monitoring_files(design))
    found |= dict(_fixtures(design, parts)) | {"playbooks/operate.md": playbook(design)}
    found |= dbt_files(design) if design.recipe is Recipe.DBT else {}
    found |= {"snowmelt.toml": _engine(design)} if design.engine_settings else {}
    found |= {"design.yaml": to_yaml(design), "data-pipeline-spec.md": specification(design, parts)}
    return dict(sorted(found.items()))


def _templates(design: Design, parts: Parts) -> dict[str, str]:
    """Only what the project uses."""
    inside = dict(_PACKAGE_FILES)
    if not parts.flows:
        inside |= {f"{name}/__init__.py": "init_alone.py" for name in ("extractors", "loaders", "transformers")}
    if parts.captures:
        inside["extractors/capturing.py"] = "capturing.py"
    if parts.flows or parts.captures:
        inside["letters.py"] = "letters.py"
    if quarantining(design):
        inside["quarantine.py"] = "quarantine.py"
    if _stepped(design):
        inside["steps.py"] = "steps.py"
    if parts.sinks:
        inside |= {"loaders/sinks.py": "loaders_sinks.py", "transformers/mapping.py": "transformers_mapping.py"}
    if parts.histories:
        inside["loaders/histories.py"] = "loaders_histories.py"
    outside = dict(_PROJECT_FILES)
    if any(stage.examples for stage in design.stages):
        outside["tests/integration/test_examples.py"] = "test_examples.py"
    schedule = _ORCHESTRATION.get(design.schedule.orchestrator)
    if schedule is not None:
        outside[f"orchestration/{schedule}"] = schedule
    return {**outside, **{f"src/{design.name.lower()}/{path}": name for path, name in inside.items()}}


# -- words and flags --------------------------------------------------------------------------------------------------


_ORCHESTRATION = {"airflow": "airflow_dag.py", "dagster": "dagster_definitions.py", "prefect": "prefect_flow.py"}
"""What starts the runs; a crontab where it is none of these."""
_CLUSTER = """\
# Beyond one machine: add "spark.master" = "spark://host:7077" below, and above [spark]
# storage_root = "s3://bucket/prefix". Without them this machine does what it can.
"""


def _engine(design: Design) -> str:
    """Settings of Spark for this design."""
    lines = [f'"{name}" = {json.dumps(value)}' for name, value in design.engine_settings.items()]
    engine = design.decision("engine")
    about = _CLUSTER if "cluster" in engine.outcome else ""
    return f"# {engine.outcome}: {engine.reason}\n{about}[spark]\n" + "\n".join(lines) + "\n"


def _flags(design: Design, parts: Parts) -> dict[str, bool]:
    flows, captures, sinks = bool(parts.flows), bool(parts.captures), bool(parts.sinks)
    brings = flows or captures
    return {
        "flows": flows, "captures": captures, "sinks": sinks, "histories": bool(parts.histories),
        "models": bool(parts.models), "moves": flows or sinks, "brings": brings, "sends_alone": sinks and not brings,
        "looks": brings or sinks, "steps": _stepped(design),
        "cuts": brings or sinks, "both": flows and captures, "hybrid": design.batch is not None,
        "dbt": design.recipe is Recipe.DBT,
        "quarantines": bool(quarantining(design)), "described": bool(made_from_tables(design)),
        "keyed": _keyed(design), "asks_who": brings or bool(quarantining(design)),
        "tasks": bool(design.tasks), "retention": design.retention is not None,
        "shapes": any(flow.get("shape") for flow in parts.flows),
        "receives": _receives(design),
        "tenants": any("tenant" in flow for flow in parts.flows),
        "maps_anything": flows or sinks or bool(parts.models),
        "maps": any("fields" in table for sink in parts.sinks for table in sink["tables"]),
    }  # fmt: skip


def _stepped(design: Design) -> bool:
    """Whether each part of a run is a task of its own."""
    return design.schedule.orchestrator == "airflow"


def _keyed(design: Design) -> bool:
    """Whether personal data is hidden by a key."""
    if design.pii is None or design.pii.strategy not in KEYED:
        return False
    outside = [source for source in design.sources if source.kind is not SourceKind.SNOWMELT]
    return any(column.pii for source in outside for table in source.tables for column in table.columns)


def _words(design: Design, parts: Parts) -> dict[str, str]:
    package = design.name.lower()
    streams = design.pattern in _STREAMING or _receives(design)
    orchestrator = design.schedule.orchestrator
    known = {"airflow": "an Airflow DAG", "dagster": "Dagster definitions", "prefect": "a Prefect flow"}
    schedules = known.get(orchestrator, "a crontab")
    return {
        "package": package, "project": package.replace("_", "-").strip("-"), "variable": package.upper(),
        "title_literal": json.dumps(_title(design)), "description": design.description or f"{_title(design)}.",
        "cron": _cron(design), "zone": _zone(design), "owner_literal": json.dumps(design.owner), "schedules": schedules,
        "extras": _extras(parts), "sources_literal": _texts(parts),
        "command": "stream" if streams else "run", "restart": "unless-stopped" if streams else '"no"',
        "run_timeout": f"{max(_HOUR, seconds_of(design.service_level.alert_after)):.0f}",
        **_imports(parts, keyed=_keyed(design)),
    }  # fmt: skip


def _texts(parts: Parts) -> str:
    """The names of sources that are brought, as a list of Python that is one name a line."""
    names = dict.fromkeys([*(str(flow["source"]) for flow in parts.flows), *(str(c["name"]) for c in parts.captures)])
    return "[\n" + "".join(f"    {json.dumps(name)},\n" for name in names) + "]"


def _receives(design: Design) -> bool:
    """Then one process has the data and listens, for as long as the machine runs."""
    return any(source.capture.way == "events" for source in design.sources)


def _imports(parts: Parts, *, keyed: bool) -> dict[str, str]:
    """Names that files import, which depend on what the project has."""
    names: set[str] = {"FlowResult"} if parts.flows or parts.captures or parts.sinks else set()
    config: set[str] = set()
    doubles: set[str] = set()
    if parts.flows:
        names |= {*_MOVING, "ColumnChange", "Extractor", "Transformer", "column_changes", "saw_records"}
        config |= {"FlowConfig"}
        doubles |= {"Batch", "Extractor", "Whole"}
    if parts.captures:
        doubles |= {"FlowResult"}
    if keyed:
        names |= {"pii_key"}
    if parts.sinks:
        names |= {*_MOVING, "Field", "Loader"}
        config |= {"SinkConfig", "SinkTable"}
        doubles |= {"Batch", "DeadLetterLoader", "Field", "Loader"}
    return {
        "extract_load_names": _in_lines(names), "double_names": _listed(doubles),
        "config_names": _listed({*config, "Config"}), "test_config_names": _listed({*config, "load_config"}),
    }  # fmt: skip


_MOVING = ("DeadLetterLoader", "Flow", "run_flow")


def _listed(names: set[str]) -> str:
    """Names sorted as ruff sorts them: classes before functions."""
    return ", ".join(sorted(names, key=lambda name: (name.islower(), name)))


def _in_lines(names: set[str]) -> str:
    """One name a line: however many there are, it is as ruff writes it."""
    return "(\n" + "".join(f"    {name},\n" for name in _listed(names).split(", ")) + ")"


def _extras(parts: Parts) -> str:
    of_sources = {SOURCES[kind].extra for kind in parts.kinds if kind in SOURCES}
    found = {extra for extra in of_sources if extra is not None} | ({"cdc"} if parts.captures else set())
    return f"snowmelt[{','.join(sorted(found))}]" if found else "snowmelt"


def _title(design: Design) -> str:
    """Short enough for one line of code."""
    begins, ends = (", ".join(item.name for item in items) for items in (design.sources, design.sinks))
    if len(begins) + len(ends) > _SHORT:
        begins, ends = f"{len(design.sources)} sources", f"{len(design.sinks)} sinks"
    return f"{begins} to {ends}, within {design.service_level.freshness}"


def _cron(design: Design) -> str:
    """Five fields; the sixth of a design's cron is the time zone."""
    chosen = design.schedule.cron or cron_for(seconds_of(design.service_level.freshness))
    return " ".join(chosen.split()[:5])


def _zone(design: Design) -> str:
    return next(iter((design.schedule.cron or "").split()[5:]), "UTC")


# -- configuration ----------------------------------------------------------------------------------------------------


def _configuration(design: Design, parts: Parts) -> Iterator[tuple[str, str]]:
    channels = {str(severity): _channel(design, severity) for severity in GateSeverity}
    data: dict[str, Any] = {
        "pipeline": design.name.lower(), "schema_policy": str(design.schema_evolution), "alert_channels": channels,
        "reconcile_seconds": RECONCILE_SECONDS[design.service_level.tier], "tier": design.service_level.tier,
        "poll_seconds": poll_seconds(design), "check_seconds": seconds_of(design.service_level.check_every),
        "attempts": ATTEMPTS, "dead_letters": "dead_letters",
        "tables": [stage.name for stage in design.stages if stage.kind is not StageKind.TABLE],
    }  # fmt: skip
    if design.batch is not None:
        data |= {
            "batch_seconds": seconds_of(design.batch.every), "batch_tables": list(design.batch.tables),
            "batch_sinks": list(design.batch.sinks),
        }  # fmt: skip
    lists = {
        "flows": parts.flows, "captures": parts.captures, "sinks": parts.sinks, "histories": parts.histories,
        "models": parts.models, "quarantines": quarantining(design), "described": made_from_tables(design),
    }  # fmt: skip
    yield "config/pipeline_config.yaml", _yaml({**data, **{name: rows for name, rows in lists.items() if rows}})
    about = "# Where sources and sinks are. Secrets come from the environment, by name.\n"
    yield "config/connections.yaml.example", about + _yaml(parts.connections)
    yield ".env.example", environment_example(parts, sorted(set(channels.values())), keyed=_keyed(design))
    if design.schedule.orchestrator not in _ORCHESTRATION:
        yield "orchestration/crontab", _crontab(design)


def _channel(design: Design, severity: GateSeverity) -> str:
    """The channel of alerts of that severity, or else of any other alert."""
    found = [alert.channel for alert in design.alerts if alert.severity is severity]
    return next(iter(found), next((alert.channel for alert in design.alerts), "log"))


def _crontab(design: Design) -> str:
    """cron has neither a login's variables nor its search path, and mails what is not written to a file."""
    name = design.name.lower()
    variables = "set -a && if [ -f .env ]; then . ./.env; fi && set +a"
    zone = _zone(design)
    # cron goes by the machine's clock, unless a line says otherwise; lines behind this one are in that zone.
    zone_line = f"CRON_TZ={zone}\n" if zone != "UTC" else ""
    if _receives(design):
        # Started once: it listens, and brings what the other sources have, until the machine stops.
        return (
            f"# {name}, from $HOME/{name} with its own .venv (make setup) and its own .env\n"
            f"@reboot cd $HOME/{name} && {variables} && make stream PYTHON=.venv/bin/python >> cron.log 2>&1\n"
        )
    return (
        f"# {name}, from $HOME/{name} with its own .venv (make setup) and its own .env\n{zone_line}"
        f"{_cron(design)} cd $HOME/{name} && {variables} && make run PYTHON=.venv/bin/python >> cron.log 2>&1\n"
    )


def _fixtures(design: Design, parts: Parts) -> Iterator[tuple[str, str]]:
    values = {
        item.source.lower(): [value.source for value in item.values] for sink in design.sinks for item in sink.fields
    }
    for model in parts.models:
        yield f"tests/fixtures/{model['name'].lower()}.json", _json(model_fixture(model, values))
    for source in design.sources:
        if source.kind is SourceKind.SNOWMELT:
            continue
        if source.capture.way == "log":
            yield (
                f"tests/fixtures/{source.name}.json",
                _json(change_fixture((table, rules_of(design, table)) for table in source.tables)),
            )
            continue
        for table in source.tables:
            yield (
                f"tests/fixtures/{table.stage.removeprefix('raw_')}.json",
                _json(fixture(table, rules_of(design, table))),
            )


def _json(data: Any) -> str:
    return json.dumps(data, indent=2) + "\n"


def _yaml(data: Any) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))
