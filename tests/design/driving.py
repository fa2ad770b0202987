"""One process that runs a built project's commands and answers queries between them, as Spark starts slowly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.design.building import environment

_MARK = "=== answer "
_LOOP = f"""
import importlib, json, sys
import snowmelt
main = importlib.import_module(sys.argv[1] + ".__main__").main
for line in sys.stdin:
    asked = json.loads(line)
    if "command" in asked:
        answer = main(asked["command"])
    else:
        with snowmelt.connect("data") as connection:
            answer = [connection.execute(query).fetchall() for query in asked["queries"]]
    print("{_MARK}" + json.dumps(answer, default=str), flush=True)
"""


class Driver:
    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log
        self._said: list[str] = []

    def call(self, *command: str) -> int:
        """The exit code of a command of the project."""
        code = self._ask({"command": command})
        assert isinstance(code, int)
        return code

    def rows(self, *queries: str) -> list[list[tuple[str | None, ...]]]:
        """Of each query its rows, every value as text."""
        found = self._ask({"queries": queries})
        assert isinstance(found, list)
        return [[tuple(None if value is None else str(value) for value in row) for row in rows] for rows in found]

    def told(self) -> str:
        """Errors, and what the commands have logged so far."""
        return self._log.read_text(encoding="utf-8") + "".join(self._said)

    def _ask(self, asked: object) -> object:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(_MARK):
                return json.loads(line.removeprefix(_MARK))
            self._said.append(line)
        raise AssertionError(f"it ended: {self.told()[-6000:]}")


@contextmanager
def driving(project: Path, **variables: str) -> Iterator[Driver]:
    package = next((project / "src").iterdir()).name
    log = project / "driver.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [sys.executable, "-c", _LOOP, package], cwd=project, env=environment(project, **variables), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        ) as process,
    ):  # fmt: skip
        try:
            yield Driver(process, log)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(240)
        finally:
            if process.poll() is None:
                process.kill()
