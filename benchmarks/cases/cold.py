"""Processes that start, answer and end: processor time, which a busy machine changes less than the clock.

Python's bytecode is kept in a folder of its own and written in the warm-up, so that nothing is compiled in a round, as
in an installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Aim, Measure, Outcome, Samples
from benchmarks.workbench import Workbench

_WARMUP, _ROUNDS = 2, 9
_VERSION_AIM, _SELECT_AIM = 300, 1_000
_DUCKDB = "import duckdb; print(duckdb.sql('SELECT 1').fetchall())"


def run(bench: Workbench) -> Outcome:
    folder = bench.folder("cold")
    data = folder / "data"
    bench.step("making a small directory")
    # A process of its own, because one that owns a directory keeps others out.
    called = _calling(folder / "bytecode", ["-m", "snowmelt"])
    setup = "CREATE TABLE small (id INTEGER, name VARCHAR); INSERT INTO small VALUES (1, 'one'), (2, 'two')"
    called(["sql", "--data", str(data), "-q", setup])
    program = {
        "snowmelt --version": ["--version"],
        "snowmelt --help": ["--help"],
        "snowmelt sql -q 'SELECT 1'": ["sql", "--data", str(data), "-q", "SELECT 1"],
        "snowmelt sql -q 'SELECT … FROM small'": ["sql", "--data", str(data), "-q", "SELECT * FROM small WHERE id = 1"],
        "snowmelt sql -q 'SHOW TABLES'": ["sql", "--data", str(data), "-q", "SHOW TABLES"],
    }
    plain = _calling(folder / "bytecode", ["-c", _DUCKDB])
    measures = [_measured(bench, name, lambda words=words: called(words)) for name, words in program.items()]
    measures.append(_measured(bench, "python -c 'import duckdb', SELECT 1", lambda: plain([])))
    version, _, constant, select, *_ = (measure.snowmelt.median for measure in measures)
    aims = (
        Aim(f"--version below {_VERSION_AIM} ms", f"{version:.0f} ms", version < _VERSION_AIM),
        Aim(f"SELECT 1 below {_SELECT_AIM} ms", f"{constant:.0f} ms", constant < _SELECT_AIM),
        Aim(f"SELECT of a small table below {_SELECT_AIM} ms", f"{select:.0f} ms", select < _SELECT_AIM),
    )
    return Outcome(tuple(measures), aims, {"measured": "processor time of user and system"})


def _calling(bytecode: Path, command: list[str]) -> Callable[[list[str]], None]:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    variables = {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}

    def call(words: list[str]) -> None:
        subprocess.run([sys.executable, *command, *words], env=variables, check=True, capture_output=True)

    return call


def _measured(bench: Workbench, name: str, work: Callable[[], None]) -> Measure:
    bench.step(name)
    taken = [_processor_time(work) for _ in range(_WARMUP + bench.rounds(_ROUNDS))]
    return Measure(name, Samples(tuple(taken[_WARMUP:]), tuple(taken[:_WARMUP])))


def _processor_time(work: Callable[[], None]) -> float:
    """Milliseconds that the processes which it started computed for."""
    before = os.times()
    work()
    after = os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent * 1000
