"""`dbt build` of the example data product against a server that is up, beside one that computes everything by Spark."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx

from benchmarks.cases.life import await_that, serving
from benchmarks.measuring import Aim, Outcome, side_by_side
from benchmarks.workbench import Workbench
from tests.clients.environments import client_command, client_environment

_PROJECT = Path(__file__).parents[2] / "examples" / "dbt_data_product"
_WARMUP, _ROUNDS = 1, 3
_AIM = 5
_SERVER, _SPARK_ALONE, _DBT = "the server", "the one with Spark alone", "dbt"


def run(bench: Workbench) -> Outcome:
    """Both servers are up, with Spark, and each build makes what is there anew."""
    bench.step("the archive of Spark's classes, which the first server of a machine makes beside its work")
    subprocess.run([sys.executable, "-m", "snowmelt.engine.training"], check=True)
    taken: dict[str, list[float]] = {_SERVER: [], _SPARK_ALONE: [], _DBT: []}
    with ExitStack() as stack:
        ours = _building(bench, stack, _SERVER, "", taken)
        theirs = _building(bench, stack, _SPARK_ALONE, '[quick]\nmode = "off"\n', taken)
        measure = side_by_side(
            "dbt build", ours, theirs, rounds=bench.rounds(_ROUNDS), warmup=_WARMUP, step=bench.step,
        )  # fmt: skip
    assert measure.plain is not None
    times = measure.plain.median / measure.snowmelt.median
    aim = Aim(f"{_AIM} times as fast as with Spark alone", f"{times:.1f} times", times >= _AIM)
    # The first build of each server warms it up, and there are two builds of dbt in a round.
    counted = {_SERVER: taken[_SERVER][_WARMUP:], _SPARK_ALONE: taken[_SPARK_ALONE][_WARMUP:], _DBT: taken[_DBT]}
    facts: dict[str, str | int | float] = {
        f"processor seconds of {who} for a build": round(sum(seconds) / len(seconds), 2)
        for who, seconds in counted.items()
    }
    return Outcome((measure,), (aim,), facts)


def _building(
    bench: Workbench, stack: ExitStack, name: str, settings: str, taken: dict[str, list[float]]
) -> Callable[[int], None]:
    """Builds the project in a server of its own. Notes what it and dbt took of the processor."""
    folder = bench.folder(name.replace(" ", "-"))
    project = shutil.copytree(_PROJECT, folder / "project", ignore=shutil.ignore_patterns("target", "logs"))
    data = folder / "data"
    data.mkdir(mode=0o700)
    (data / "snowmelt.toml").write_text(settings, encoding="utf-8")
    bench.step(f"{name} starts")
    process, url = stack.enter_context(serving(data))
    # Spark's start beside the builds would be taken for theirs.
    await_that(lambda: httpx.get(f"{url}/healthz", timeout=60).status_code == 200)
    dbt = str(client_command("dbt", "dbt"))
    variables = {
        **client_environment(), "HOME": str(folder), "SNOWMELT_PORT": url.rsplit(":", 1)[1],
        "SNOWMELT_ADMIN_PASSWORD": "chosen", "DBT_PROFILES_DIR": str(project),
    }  # fmt: skip

    def call(*words: str) -> float:
        before = os.times()
        done = subprocess.run(
            [dbt, "--no-use-colors", *words, "--no-version-check"], cwd=project, env=variables, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"dbt {' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    def build(_: int) -> None:
        before = _processor_seconds(process.pid)
        taken[_DBT].append(call("build", "--full-refresh"))
        taken[name].append(_processor_seconds(process.pid) - before)

    call("run-operation", "prepare_events")
    return build


def _processor_seconds(process: int) -> float:
    """What a process and those that it started have computed for. Threads and processes may end meanwhile."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children: set[int] = set()
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children.update(map(int, thread.read_text(encoding="ascii").split()))
    return own + sum(_processor_seconds(child) for child in children)
