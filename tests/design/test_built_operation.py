"""What operates a built project is taken by the real programs: Airflow, hadolint, promtool, and our own playbooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import promql_parser
import psycopg
import pytest
import yaml

from snowmelt.design.building.monitoring import PIPELINE_METRICS
from snowmelt.observe.metrics import METRICS
from tests.clients.environments import client_command, client_environment, client_python
from tests.design.building import PROJECTS, built, environment, made, queried
from tests.support.postgres import empty_schema
from tests.support.promtool import checked
from tests.support.waiting import DEADLINE


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: built(given, tmp_path_factory.mktemp(name)) for name, given in PROJECTS.items()}


def test_rules_and_dashboards_read_metrics_that_exist(projects: dict[str, Path]) -> None:
    known = {*METRICS, *PIPELINE_METRICS}
    for project in projects.values():
        rules = yaml.safe_load((project / "monitoring" / "alert_rules.yml").read_text(encoding="utf-8"))
        board = json.loads((project / "monitoring" / "dashboard.json").read_text(encoding="utf-8"))
        expressions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
        expressions += [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
        for expression in expressions:
            promql_parser.parse(expression)
            assert set(re.findall(r"snowmelt_\w+", expression)) <= known, expression
        package = next((project / "src").iterdir())
        written = (package / "utils" / "metrics.py").read_text(encoding="utf-8")
        assert all(f'"{name.removeprefix("snowmelt_pipeline_")}"' in written for name in PIPELINE_METRICS)


@pytest.mark.slow
def test_prometheus_takes_the_rules(projects: dict[str, Path], promtool: str) -> None:
    for project in projects.values():
        checked(promtool, "check", "rules", str(project / "monitoring" / "alert_rules.yml"))
        checked(promtool, "check", "config", str(project / "monitoring" / "prometheus.yml"))


@pytest.mark.slow
def test_hadolint_takes_the_docker_files(projects: dict[str, Path]) -> None:
    for project in projects.values():
        done = subprocess.run(
            [client_command("hadolint", "hadolint"), project / "docker" / "Dockerfile"], capture_output=True, text=True,
            timeout=DEADLINE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        composed = yaml.safe_load((project / "docker" / "compose.yaml").read_text(encoding="utf-8"))
        (service,) = composed["services"].values()
        assert (project / "docker" / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


@pytest.mark.slow
def test_a_playbook_takes_a_project_into_operation(tmp_path: Path) -> None:
    """And again, which does nothing; and the tables are those that a run of the project finds."""
    project = built(PROJECTS["files_scd"], tmp_path)
    command = [
        sys.executable, "-m", "snowmelt", "playbook", "run", "playbooks/operate.md", "--data", "data",
        "--approve", "review",
    ]  # fmt: skip
    for _ in range(2):
        done = subprocess.run(
            command,
            cwd=project,
            env=environment(project),
            timeout=DEADLINE,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert queried(project, "SELECT COUNT(*) FROM stg_customers") == ["0"]


# -- Dagster and cron -------------------------------------------------------------------------------------------------

_CUSTOMERS = "id,city,phone,changed_at\n1,Paris,1,2024-01-01T00:00:00\n1,Rome,1,2024-01-02T00:00:00\n,x,1,2024-01-01\n"
_VERSIONS = "SELECT id, city, is_current, (SELECT COUNT(*) FROM dead_letters) FROM stg_customers ORDER BY valid_from"


def with_customers(folder: Path, **said: str) -> Path:
    project = built({**PROJECTS["files_scd"], **said}, folder)
    (project / "incoming").mkdir()
    (project / "incoming" / "customers_1.csv").write_text(_CUSTOMERS, encoding="utf-8")
    return project


@pytest.mark.slow
def test_dagster_takes_the_definitions_and_runs_the_job(tmp_path: Path) -> None:
    project = with_customers(tmp_path)
    home = tmp_path / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    variables = {
        **client_environment(), "DAGSTER_HOME": str(home), "SNOWMELT_PYTHON": sys.executable,
        # Of the project's own processes, which `make run` starts.
        "PYTHONPATH": environment(project)["PYTHONPATH"],
    }  # fmt: skip
    definitions = ["-f", "orchestration/dagster_definitions.py"]
    for command in (["definitions", "validate", *definitions], ["job", "execute", *definitions, "-j", "customers_scd"]):
        done = subprocess.run(
            [client_command("dagster", "dagster"), *command], cwd=project, env=variables, timeout=800,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    assert queried(project, _VERSIONS) == ["1,Paris,False,1", "1,Rome,True,1"]


@pytest.mark.slow
def test_prefect_runs_the_flow(tmp_path: Path) -> None:
    project = with_customers(tmp_path, orchestrator="prefect", schedule="0 6 * * * Europe/Berlin")
    variables = {
        **client_environment(), "PREFECT_HOME": str(tmp_path / "prefect"), "SNOWMELT_PYTHON": sys.executable,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
        "PYTHONPATH": environment(project)["PYTHONPATH"],
    }  # fmt: skip
    flow = project / "orchestration" / "prefect_flow.py"
    asked = "import prefect_flow; print(prefect_flow.SCHEDULE.cron, prefect_flow.SCHEDULE.timezone)"
    for command in (["-c", asked], [str(flow), "once"]):
        done = subprocess.run(
            [client_python("prefect"), *command], cwd=flow.parent, env=variables, timeout=800, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
        assert "-c" not in command or done.stdout.split("\n")[0] == "0 6 * * * Europe/Berlin"
    assert queried(project, _VERSIONS) == ["1,Paris,False,1", "1,Rome,True,1"]


@pytest.mark.slow
def test_the_line_of_the_crontab_runs_as_cron_runs_it(tmp_path: Path) -> None:
    """By /bin/sh, from the home folder, with next to no variables; what it needs is in the project."""
    project = with_customers(tmp_path)
    project = project.rename(tmp_path / "customers_scd")
    python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    paths = environment(project)["PYTHONPATH"]
    (project / ".env").write_text(f"PYTHONPATH={paths}\n", encoding="utf-8")
    told, line = (project / "orchestration" / "crontab").read_text(encoding="utf-8").splitlines()
    *fields, command = line.split(" ", 5)
    assert told.startswith("#") and re.fullmatch(r"[0-9*/,-]+( [0-9*/,-]+){4}", " ".join(fields))
    assert "%" not in command, "cron makes line breaks of them"
    variables = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "somebody"}
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "SNOWMELT_JARS") if name in os.environ}
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env={**variables, **kept}, timeout=600, check=False)
    assert done.returncode == 0, (project / "cron.log").read_text(encoding="utf-8")[-4000:]
    assert queried(project, _VERSIONS) == ["1,Paris,False,1", "1,Rome,True,1"]


# -- Airflow ----------------------------------------------------------------------------------------------------------

_IMPORTED = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag()
for path in sys.argv[1:]:
    bag.process_file(path, only_if_updated=False)
print("ERRORS", bag.import_errors)
print("DAGS", sorted(bag.dags))
"""


def airflow(home: Path, folder: Path, project: Path, *command: str | Path) -> str:
    variables = {
        **client_environment(), "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder), "SNOWMELT_PYTHON": sys.executable,
        "PATH": os.pathsep.join([str(client_python("airflow").parent), os.environ["PATH"]]),
        # Of the project's own processes, which tasks start.
        **{name: environment(project)[name] for name in ("PYTHONPATH", "SNOWMELT_TOKEN_KEY")},
    }  # fmt: skip
    done = subprocess.run(command, env=variables, timeout=800, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


@pytest.mark.slow
def test_airflow_imports_every_dag_and_runs_one(projects: dict[str, Path], tmp_path: Path) -> None:
    home = tmp_path / "airflow"
    python, command = client_python("airflow"), client_command("airflow", "airflow")
    # Webhooks come at any time: nothing that starts runs may be asked for there.
    given = {name: item for name, item in PROJECTS.items() if item["sources"][0]["kind"] != "webhook"}
    scheduled = [built({**item, "orchestrator": "airflow"}, tmp_path / name) for name, item in given.items()]
    files = [project / "orchestration" / "airflow_dag.py" for project in scheduled]
    told = airflow(home, home, next(iter(projects.values())), python, "-c", _IMPORTED, *files)
    assert "ERRORS {}" in told
    assert f"DAGS {sorted(item['name'] for item in given.values())}" in told
    project = built({**PROJECTS["files_snowmelt"], "orchestrator": "airflow"}, tmp_path)
    (project / "incoming").mkdir()
    (project / "incoming" / "orders_1.csv").write_text(
        "order_id,customer,amount,updated_at\n1,ada,2.50,2024-01-01T00:00:00\n1,ada,3.50,2024-01-02T00:00:00\n"
        "2,bob,1.00,2024-01-01T00:00:00\n,nobody,9.00,2024-01-01T00:00:00\n",
        encoding="utf-8",
    )
    folder = project / "orchestration"
    airflow(home, folder, project, command, "db", "migrate")
    airflow(home, folder, project, command, "dags", "test", "shop_files", "2024-05-01")
    query = "SELECT SUM(revenue)::VARCHAR, SUM(orders), (SELECT COUNT(*) FROM dead_letters) FROM revenue"
    assert queried(project, query) == ["4.50,2,1"]


@pytest.mark.slow
def test_steps_that_are_called_one_by_one_are_a_run(tmp_path: Path, postgres_url: str) -> None:
    """Each in a process of its own, as tasks are: metrics are those of all, and what is refused does not leave."""
    url = empty_schema(postgres_url)
    gate = {"check": "range", "table": "totals", "columns": ["n"], "maximum": 5, "severity": "critical"}
    mart = {"name": "mart", "kind": "postgres", "connection": "MART_URL", "key": ["city"], "load": "upsert"}
    given = {**PROJECTS["files_scd"], "name": "by_steps", "orchestrator": "airflow", "sinks": [mart], "quality": [gate]}
    totals = {"name": "totals", "key": ["city"], "sql": "SELECT city, COUNT(*) AS n FROM stg_customers GROUP BY city"}
    project = built({**given, "transformations": [totals]}, tmp_path)
    (project / "incoming").mkdir()
    lines = ["id,city,phone,changed_at", *(f"{n},Rome,1,2024-01-01T00:00:00" for n in range(3))]
    (project / "incoming" / "customers_1.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    metrics = project / "data" / "metrics" / "by_steps.prom"
    success = "snowmelt_pipeline_last_success_timestamp_seconds{"
    with psycopg.connect(url, autocommit=True) as sink:
        for step in ("bring WHAT=drop", "refresh", "judge", "publish"):
            made(project, *step.split(), MART_URL=url)
            ended = [float(line.split()[-1]) for line in metrics.read_text("utf-8").splitlines() if success in line]
            assert bool(ended[0]) == (step == "publish")
        assert 'snowmelt_pipeline_rows{flow="customers",pipeline="by_steps"} 3.0' in metrics.read_text("utf-8")
        assert 'snowmelt_pipeline_published_rows{pipeline="by_steps",sink="mart"} 1.0' in metrics.read_text("utf-8")
        assert sink.execute("SELECT city, n FROM totals").fetchall() == [("Rome", 3)]
        more = ["id,city,phone,changed_at", *(f"{n},Rome,1,2024-01-02T00:00:00" for n in range(3, 9))]
        (project / "incoming" / "customers_2.csv").write_text("\n".join(more) + "\n", encoding="utf-8")
        made(project, "bring", "refresh", MART_URL=url)
        for step in ("judge", "publish"):
            done = subprocess.run(
                ["make", step, f"PYTHON={sys.executable}"], cwd=project, env=environment(project, MART_URL=url),
                timeout=DEADLINE, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode != 0, done.stdout
        assert sink.execute("SELECT city, n FROM totals").fetchall() == [("Rome", 3)], "the last good version"
    wrong = [sys.executable, "-m", "by_steps", "bring", "elsewhere"]
    done = subprocess.run(
        wrong, cwd=project, env=environment(project), timeout=DEADLINE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and "There is no source elsewhere: there are drop." in done.stderr
