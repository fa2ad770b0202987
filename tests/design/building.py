"""Projects that tests build, and how their own commands are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from snowmelt.design.deciding import decide
from snowmelt.design.making.designing import design
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.reading import to_yaml

HERE = Path(__file__).parent
PROJECTS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "projects.yaml").read_text(encoding="utf-8"))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def designed(requirements: dict[str, Any], folder: Path) -> Path:
    """The design.yaml of requirements."""
    given = Requirements.model_validate(requirements)
    path = folder / "design.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(to_yaml(design(given, decide(given))), encoding="utf-8")
    return path


def built(requirements: dict[str, Any], folder: Path) -> Path:
    path = designed(requirements, folder / "design")
    project = folder / "project"
    result = call("build", str(path), "-o", str(project))
    assert result.exit_code == 0, result.output
    return project


def texts(project: Path) -> dict[str, str]:
    return {
        path.relative_to(project).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(project.rglob("*")) if path.is_file()
    }  # fmt: skip


def environment(project: Path, **variables: str) -> dict[str, str]:
    """As if this tree were installed; all projects of a test run share what mypy has learnt of it."""
    here = str(HERE.parents[1] / "src")
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join([here, str(project / "src")]), "MYPYPATH": here,
        "MYPY_CACHE_DIR": str(HERE.parents[1] / ".mypy_cache" / "built"), **variables,
    }  # fmt: skip


def made(project: Path, *targets: str, seconds: float = 800, **variables: str) -> str:
    """What `make` says; it must succeed."""
    done = subprocess.run(
        ["make", *targets, f"PYTHON={sys.executable}"], cwd=project, env=environment(project, **variables),
        timeout=seconds, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout


_ROWS = "=== rows"
_RUN_AND_ASK = f"""
import csv, importlib, sys
import snowmelt
package, runs, *queries = sys.argv[1:]
for _ in range(int(runs)):
    code = importlib.import_module(package + ".__main__").main(["run"])
    assert code == 0, code
print("{_ROWS}")
with snowmelt.connect("data") as connection:
    for query in queries:
        csv.writer(sys.stdout).writerows(connection.execute(query).fetchall())
"""


def queried(project: Path, *queries: str, runs: int = 0, **variables: str) -> list[str]:
    """The rows of all queries over the project's data directory, as CSV; after some runs of the project.

    It is one process, as Spark starts slowly.
    """
    package = next((project / "src").iterdir()).name
    done = subprocess.run(
        [sys.executable, "-c", _RUN_AND_ASK, package, str(runs), *queries], cwd=project,
        env=environment(project, **variables), timeout=1200, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.partition(f"{_ROWS}\n")[2].splitlines()
