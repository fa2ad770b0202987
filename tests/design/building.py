"""Projects that tests build, and how their own commands are run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from snowmelt.design.deciding import decide
from snowmelt.design.making.designing import design
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.reading import to_yaml
from tests.support.waiting import DEADLINE, wait_until

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


def project_flows(design_file: Path, folder: Path) -> list[dict[str, Any]]:
    """The flows of the project that is built of a design."""
    result = call("build", str(design_file), "-o", str(folder))
    assert result.exit_code == 0, result.output
    config = yaml.safe_load((folder / "config" / "pipeline_config.yaml").read_text(encoding="utf-8"))
    flows: list[dict[str, Any]] = config["flows"]
    return flows


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
        "MYPY_CACHE_DIR": str(HERE.parents[1] / ".mypy_cache" / "built"),
        "SNOWMELT_TOKEN_KEY": "a key for tests", **variables,
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


@contextmanager
def started(project: Path, *command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own, which is killed at the end if it still runs."""
    process = subprocess.Popen(
        command, cwd=project, env=environment(project, **variables), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


def killed_in_the_middle(project: Path, batches: int, event: str = "batch", **variables: str) -> None:
    """A run that is killed with all its children once it has loaded some batches, and has more to load."""
    command = (sys.executable, "-u", "-m", next((project / "src").iterdir()).name, "run")
    with started(project, *command, **variables) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if f'"event": "{event}"' in line:
                batches -= 1
            if batches == 0:
                break
        assert batches == 0, "".join(lines[-40:])
        assert '"event": "done"' not in "".join(lines), "it must be in the middle"


class Streamed:
    """`make stream` at work, and the events of its log so far."""

    def __init__(self, project: Path, **variables: str) -> None:
        self._log = project / "stream.log"
        with self._log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["make", "stream", f"PYTHON={sys.executable}"], cwd=project, env=environment(project, **variables),
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def told(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.told().splitlines() if line.startswith("{") and line.endswith("}")]

    def wait(self, holds: Callable[[list[dict[str, Any]]], object]) -> None:
        """Until it holds of the events; a process that ends before never will."""
        wait_until(lambda: holds(self.events()) or self.process.poll() is not None, lambda: self.told()[-4000:])
        assert holds(self.events()), self.told()[-4000:]

    def wait_for_rows(self, count: int) -> None:
        """Until that many came, and a pass with the last of them is over."""

        def passed(events: list[dict[str, Any]]) -> bool:
            brought = 0
            for event in events:
                brought += event["rows"] if event["event"] == "flow" else 0
                if brought >= count and event["event"] == "pass":
                    return True
            return False

        self.wait(passed)

    def end(self, number: signal.Signals) -> None:
        """As a terminal or a supervisor would: for the whole group."""
        os.killpg(self.process.pid, number)
        self.process.wait(DEADLINE)
        # `make` may end before what it started.
        wait_until(lambda: not _is_there(self.process.pid), "the group ends")


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def streaming(project: Path, **variables: str) -> Iterator[Streamed]:
    """Ends by Ctrl-C, in order, unless the block has ended it."""
    streamed = Streamed(project, **variables)
    try:
        yield streamed
        if streamed.process.poll() is None:
            streamed.end(signal.SIGINT)
            assert "Traceback" not in streamed.told(), streamed.told()[-4000:]
    finally:
        if streamed.process.poll() is None:
            streamed.end(signal.SIGKILL)
