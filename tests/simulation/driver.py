"""Seeds and what becomes of them: lives on one folder, each a process that may crash, one after the other.

As a program: `python -m tests.simulation.driver FOLDER SEED` runs one again, with a file of its steps if it fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.crash.driver import ROOT
from tests.support.waiting import DEADLINE

LIVES = 3
_ENDS = (0, 89)


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: str
    problem: str | None
    said: tuple[str, ...]
    """What each life printed last: its steps and a digest of them."""


class Simulations:
    """Makes a folder once, and runs seeds on copies of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        environment |= {"PYTHONHASHSEED": "0", "SNOWMELT_LOG_LEVEL": "CRITICAL"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.simulation.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, cwd=ROOT, text=True,
        )  # fmt: skip
        self._template = folder / "template"
        said = self._live({"life": 0, "data": str(self._template), "output": str(folder / "template.txt")})
        assert said == 0, (folder / "template.txt").read_text()

    def run(self, seed: str, *, bug: str | None = None, trace: bool = False, name: str = "data") -> Outcome:
        """`trace`: a file beside the data has all steps of each life."""
        folder = self._folder / f"{seed} {bug or ''} {name}".replace(" ", "-")
        shutil.copytree(self._template, folder / "data")
        log, output, said = folder / "log", folder / "output", []
        log.touch()
        for life in range(1, LIVES + 1):
            status = self._live({
                "life": life, "seed": seed, "data": str(folder / "data"), "log": str(log), "output": str(output),
                "last": life == LIVES, "bug": bug, "trace": str(folder / f"trace{life}") if trace else None,
            })  # fmt: skip
            text = output.read_text()
            said.append(text.strip().rsplit("\n", 1)[-1])
            if status not in _ENDS:
                return Outcome(seed, f"seed {seed}, life {life}, status {status}, in {folder}:\n{text}", tuple(said))
        shutil.rmtree(folder)
        return Outcome(seed, None, tuple(said))

    def _live(self, order: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        status: int = json.loads(self._process.stdout.readline())["status"]
        return status

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE)
        self._process.stdout.close()


if __name__ == "__main__":
    chosen = Simulations(Path(sys.argv[1]))
    print(chosen.run(sys.argv[2], trace=True))
    chosen.close()
