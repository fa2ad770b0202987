"""`snowmelt build`: whole projects for every source, destination and pattern, none with a placeholder."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MailHandler

from snowmelt.design.antipatterns.linting import lint_paths
from snowmelt.design.building.project import project_files
from snowmelt.design.deciding import decide
from snowmelt.design.making.designing import design
from snowmelt.design.requirements.model import Requirements, SinkKind, SourceKind
from tests.design.building import HERE, PROJECTS, built, call, designed, environment, texts
from tests.support.ports import free_port
from tests.support.waiting import DEADLINE

EXPECTED = (
    "README.md", "data-pipeline-spec.md", "config/pipeline_config.yaml", "config/connections.yaml.example",
    ".env.example", "pyproject.toml", "Makefile", "docker/Dockerfile", "docker/compose.yaml", "design.yaml",
    "monitoring/alert_rules.yml", "monitoring/dashboard.json",
    "tests/unit/test_parts.py", "tests/integration/test_run.py", "playbooks/operate.md",
)  # fmt: skip
SECTIONS = (
    "Overview", "Purpose", "Architecture", "Sources", "Destination", "Transformations", "Quality", "Scheduling",
    "Error handling", "Monitoring", "Runbook", "Change log",
)  # fmt: skip
PACKAGES = ("extractors", "transformers", "loaders", "quality", "utils")
GOLDEN = HERE / "golden" / "projects"


def test_projects_cover_all_sources_sinks_and_patterns(projects: dict[str, Path]) -> None:
    sources = {source["kind"] for given in PROJECTS.values() for source in given["sources"]}
    sinks = {sink["kind"] for given in PROJECTS.values() for sink in given["sinks"]}
    assert sources == {str(kind) for kind in SourceKind}
    assert sinks == {str(kind) for kind in SinkKind}
    designs = [yaml.safe_load((path / "design.yaml").read_text(encoding="utf-8")) for path in projects.values()]
    assert {design["pattern"] for design in designs} == {"batch ETL", "ELT", "streaming", "micro-batch", "hybrid"}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: built(given, tmp_path_factory.mktemp(name)) for name, given in PROJECTS.items()}


def test_code_is_as_ruff_wants_it(projects: dict[str, Path], tmp_path: Path) -> None:
    """Also where names are long."""
    long = {**PROJECTS["files_scd"], "name": "n" * 40, "owner": "o" * 60, "description": "d" * 300}
    paths = [*projects.values(), built(long, tmp_path)]
    stepped = ("postgres_log_delta", "model_api", "rest_postgres")
    paths += [built({**PROJECTS[name], "orchestrator": "airflow"}, tmp_path / name) for name in stepped]
    ruff = Path(sys.executable).with_name("ruff")
    for arguments in (["check"], ["format", "--check"]):
        subprocess.run([ruff, *arguments, "--quiet", "--no-cache", *paths], check=True, timeout=DEADLINE)


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_is_complete(name: str, projects: dict[str, Path], rewrite: bool) -> None:
    project = projects[name]
    found = texts(project)
    assert set(EXPECTED) <= set(found)
    package = PROJECTS[name]["name"]
    assert {f"src/{package}/{part}/base.py" for part in PACKAGES if part != "utils"} <= set(found)
    for path, text in found.items():
        if path.startswith(".snowmelt/"):
            continue
        assert not re.search(r"<<\w+|\bTODO\b|\bFIXME\b|NotImplementedError", text), path
        if path.endswith(".py"):
            ast.parse(text)
    assert all(f"\n## {section}\n\n" in found["data-pipeline-spec.md"] for section in SECTIONS)
    assert not re.search(r"## [^\n]+\n\n(?=## |\Z)", found["data-pipeline-spec.md"]), "an empty section"
    assert not [item for item in lint_paths([project / "sql"]) if item.pattern.level == "error"]
    _every_variable_is_explained(found)
    _compare(name, found, rewrite=rewrite)


def test_the_specification_says_columns_bounds_and_promises(projects: dict[str, Path]) -> None:
    text = (projects["postgres_snowmelt"] / "data-pipeline-spec.md").read_text(encoding="utf-8")
    for said in ("| public.orders | amount | NUMBER(12,2) | yes | no |", "at least 0, 0.01 of the rows may break it",
                 "Promise: 30 minutes old at most", "200 MB a day", "| version | 0.1.0 |"):  # fmt: skip
        assert said in text, said


def test_an_alert_channel_that_nobody_knows_is_refused(projects: dict[str, Path], tmp_path: Path) -> None:
    """By the requirements, and by what is built."""
    path = tmp_path / "requirements.yaml"
    path.write_text(yaml.safe_dump({**PROJECTS["files_scd"], "monitoring": {"channel": "pager"}}), encoding="utf-8")
    told = call("design", "-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive")
    assert told.exit_code == 3 and "'pager' is not an alert channel" in " ".join(told.output.split())
    project = projects["files_scd"]
    config = project / "config" / "pipeline_config.yaml"
    other = tmp_path / "config.yaml"
    other.write_text(config.read_text(encoding="utf-8").replace("warn: log", "warn: pager"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "customers_scd", "run", "--config", other, "--data", tmp_path / "data"], cwd=project,
        env=environment(project), timeout=DEADLINE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3 and "'pager' is not an alert channel" in done.stderr


@pytest.mark.parametrize(
    ("orchestrator", "file", "text"),
    [
        ("airflow", "airflow_dag.py", 'start_date=pendulum.datetime(2024, 1, 1, tz="Europe/Berlin")'),
        ("dagster", "dagster_definitions.py", 'execution_timezone="Europe/Berlin"'),
        ("prefect", "prefect_flow.py", 'Cron("0 6 * * *", timezone="Europe/Berlin")'),
        ("cron", "crontab", "CRON_TZ=Europe/Berlin"),
    ],
)
def test_a_schedule_keeps_its_time_zone(orchestrator: str, file: str, text: str, tmp_path: Path) -> None:
    given = {**PROJECTS["files_scd"], "orchestrator": orchestrator, "schedule": "0 6 * * * Europe/Berlin"}
    assert text in texts(built(given, tmp_path))[f"orchestration/{file}"]


def test_severities_go_to_their_channels(tmp_path: Path) -> None:
    channels = {"channel": "slack:TEAM_URL", "severities": {"critical": "email:oncall@example.org", "warn": "log"}}
    found = texts(built({**PROJECTS["files_scd"], "monitoring": channels}, tmp_path))
    assert yaml.safe_load(found["config/pipeline_config.yaml"])["alert_channels"] == {
        "warn": "log", "error": "slack:TEAM_URL", "critical": "email:oncall@example.org",
    }  # fmt: skip
    assert {"TEAM_URL", "MAIL_URL"} <= set(re.findall(r"^(\w+)=", found[".env.example"], re.MULTILINE))


def test_alerts_arrive(projects: dict[str, Path]) -> None:
    """At a webhook and at Slack's kind of webhook as JSON, by mail at a server; one that can't be sent is only told."""
    posted: list[dict[str, Any]] = []
    mails: list[Any] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """The test's output is its own."""

    class Mailbox(MailHandler):
        def handle_message(self, message: Any) -> None:
            mails.append(message)

    web = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    mail = Controller(Mailbox(), hostname="127.0.0.1", port=free_port())
    mail.start()
    try:
        address = f"http://127.0.0.1:{web.server_port}"
        done = subprocess.run(
            [sys.executable, "-c", _SEND], cwd=projects["files_scd"], check=True, capture_output=True, text=True,
            timeout=DEADLINE, env=environment(
                projects["files_scd"], TEAM_URL=address, HOOK_URL=address, GONE_URL="http://127.0.0.1:1",
                MAIL_URL=f"mailto://127.0.0.1:{mail.port}?from=pipelines@example.org&mode=insecure",
            ),
        )  # fmt: skip
    finally:
        mail.stop()
        web.shutdown()
        web.server_close()
    assert posted == [{"title": "late", "text": "two hours"}, {"text": "late\ntwo hours"}]
    assert [(item["To"], item["Subject"]) for item in mails] == [("ops@example.org", "late")]
    assert done.stdout.count("alert not sent") == 2


_SEND = """
import structlog
from customers_scd.utils.alerts import send_alert
for channel in ("webhook:HOOK_URL", "slack:TEAM_URL", "email:ops@example.org", "webhook:GONE_URL", "slack:NOT_SET"):
    send_alert(channel, "late", "two hours", structlog.get_logger())
"""


def test_projects_are_set_up_with_the_snowmelt_that_built_them(projects: dict[str, Path]) -> None:
    """There need be no release: what runs here says where it came from."""
    origin = call("--origin").stdout.strip()
    assert Path(origin).is_dir() or origin.endswith(".whl") or origin.startswith("snowmelt==")
    done = subprocess.run(
        ["make", "--dry-run", "setup", "PYTHON=python3"], cwd=projects["files_scd"], check=True, capture_output=True,
        text=True, timeout=DEADLINE, env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert f"pip install '{origin}' --editable" in done.stdout


def test_every_public_name_has_a_docstring(projects: dict[str, Path]) -> None:
    missing = [
        f"{path.relative_to(project)}: {name}"
        for project in projects.values()
        for path in (*project.glob("src/**/*.py"), *project.glob("orchestration/*.py"))
        for name in _undocumented(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert missing == []


def _undocumented(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    if isinstance(tree, ast.Module) and tree.body and ast.get_docstring(tree) is None:
        yield "the module"
    for item in tree.body:
        if isinstance(item, ast.FunctionDef | ast.ClassDef) and not item.name.startswith("_"):
            if ast.get_docstring(item) is None:
                yield item.name
            if isinstance(item, ast.ClassDef):
                yield from _undocumented(item)


def _every_variable_is_explained(found: dict[str, str]) -> None:
    named = set(re.findall(r"\$\{(\w+)\}", found["config/connections.yaml.example"]))
    explained = set(re.findall(r"^(\w+)=", found[".env.example"], re.MULTILINE))
    assert named <= explained
    for channel in yaml.safe_load(found["config/pipeline_config.yaml"])["alert_channels"].values():
        if channel.startswith("webhook:"):
            assert channel.removeprefix("webhook:") in explained


def _compare(name: str, found: dict[str, str], *, rewrite: bool) -> None:
    """The files that differ most between projects are kept as they should be."""
    kept = [
        path
        for path in found
        if path.startswith(("config/", "contracts/", "sql/")) or path.endswith(("pipeline.py", ".env.example"))
    ]
    text = "".join(f"===== {path}\n{found[path]}" for path in kept)
    golden = GOLDEN / f"{name}.txt"
    if rewrite:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "pytest --rewrite, and look at the difference"


def test_the_playbook_of_every_project_is_clean(projects: dict[str, Path]) -> None:
    for project in projects.values():
        result = call("playbook", "lint", str(project / "playbooks" / "operate.md"))
        assert result.exit_code == 0, result.output
        assert "warning" not in result.output.lower(), result.output


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sinks": [{"name": "crm", "kind": "api"}]}, "sink crm of kind api by overwrite"),
        (
            {"sinks": [{"name": "a", "kind": "api", "key": ["id"], "fields": [{"source": "city", "target": "x"}]}]},
            "whose fields leave out its key id",
        ),
        ({"sinks": [{"name": "out", "kind": "csv", "load": "upsert", "key": ["id"]}]}, "of kind csv by upsert"),
        ({"sinks": [{"name": "out", "kind": "parquet", "load": "append"}]}, "each change would count once more"),
        ({"sinks": [{"name": "out", "kind": "delta", "load": "overwrite", "reads": ["x"]}]}, "x, which is not a table"),
        ({"sinks": [{"name": "drop", "kind": "csv", "load": "overwrite"}]}, "both named drop"),
        ({"name": "json"}, "a project named json"),
        ({"name": "x" * 60}, "at most 40 characters"),
        (
            {
                "sources": [{"name": "w", "kind": "snowmelt", "tables": [{"name": "t", "key": ["id"]}]}],
                "sinks": [{"name": "mart", "kind": "snowmelt"}],
                "pii": {"present": False},
            },
            "Nothing to build",
        ),
    ],
)  # fmt: skip
def test_what_can_not_be_built_is_named_with_what_can(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    given = {**PROJECTS["files_scd"], **change}
    result = call("build", str(designed(given, tmp_path)), "-o", str(tmp_path / "project"))
    assert result.exit_code == 3
    assert told in " ".join(result.stderr.split())
    assert not (tmp_path / "project").exists()


def test_a_secret_that_somebody_wrote_into_a_design_is_refused(tmp_path: Path) -> None:
    source = {"name": "a", "kind": "api", "options": {"token": "${TOKEN}"}, "tables": [{"name": "t"}]}
    change = {"sources": [source], "transformations": [], "quality": None, "pii": {"present": False}}
    path = designed({**PROJECTS["files_snowmelt"], **change}, tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("${TOKEN}", "hunter2"), encoding="utf-8")
    result = call("build", str(path), "-o", str(tmp_path / "project"))
    assert result.exit_code == 3 and "token is a secret" in " ".join(result.stderr.split())
    assert "hunter2" not in result.output


def test_a_project_passes_its_unit_tests(projects: dict[str, Path]) -> None:
    """The whole of `make lint test` is slow; this is what can be had in seconds."""
    project = projects["kafka_postgres"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit"], cwd=project,
        env=environment(project), timeout=DEADLINE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_critical_is_held_to_a_percentile() -> None:
    """Of a day, as one long delay is told at once, and many short ones are not."""
    given = {**PROJECTS["postgres_snowmelt"], "availability": "critical", "consistency": "at_least_once"}
    wanted = Requirements.model_validate(given)
    made = design(wanted, decide(wanted))
    held = {alert.name: alert for alert in made.alerts if alert.name.startswith("p99_")}
    assert made.service_level.percentile == 99 and held
    assert all("TIME_WITHIN_TARGET_LAG_RATIO < 0.99" in str(alert.sql) for alert in held.values())
    files = project_files(made)
    rules = [rule["expr"] for group in yaml.safe_load(files["monitoring/alert_rules.yml"])["groups"]
             for rule in group["rules"] if "quantile_over_time(0.99" in rule["expr"]]  # fmt: skip
    assert len(rules) == len(held) and "in more than 1 of 100 moments of a day" in files["data-pipeline-spec.md"]
    plain = Requirements.model_validate({**given, "availability": "standard"})
    assert not any(alert.name.startswith("p99_") for alert in design(plain, decide(plain)).alerts)


def test_rules_and_dashboard_are_those_of_the_design(projects: dict[str, Path]) -> None:
    project = projects["postgres_log_delta"]
    rules = yaml.safe_load((project / "monitoring" / "alert_rules.yml").read_text(encoding="utf-8"))["groups"][0][
        "rules"
    ]
    design = yaml.safe_load((project / "design.yaml").read_text(encoding="utf-8"))
    assert len(rules) == len(design["alerts"]) + 1, "every alert has a rule, and so has a run that is overdue"
    assert {rule["labels"]["severity"] for rule in rules} <= {"warning", "error", "critical"}
    board = json.loads((project / "monitoring" / "dashboard.json").read_text(encoding="utf-8"))
    assert board["schemaVersion"] and len([panel for panel in board["panels"] if panel["type"] != "row"]) >= 8


def test_the_time_zone_of_a_schedule_reaches_the_crontab(tmp_path: Path) -> None:
    case = yaml.safe_load((Path(__file__).parent / "cases" / "44-slower-than-the-rate-limit.yaml").read_text("utf-8"))
    given = {**case["requirements"], "schedule": "30 6 * * * Europe/Berlin", "volume": {"per_day": "1 GB"}}
    lines = (built(given, tmp_path) / "orchestration" / "crontab").read_text("utf-8").splitlines()
    assert lines[1] == "CRON_TZ=Europe/Berlin" and lines[2].startswith("30 6 * * * cd $HOME/tickets ")
