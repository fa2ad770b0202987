"""README and the examples' READMEs: every command, statement and line of Python in them runs as it is written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.crash.test_processes import ROOT, environment
from tests.support.waiting import DEADLINE, wait_until

EXAMPLES = ROOT / "examples"
HELD_ELSEWHERE = {
    "cdc": "tests/examples/test_cdc_example.py", "dbt_data_product": "tests/clients/test_dbt.py",
}  # fmt: skip
"""Examples that need a PostgreSQL, or packages of dbt, and where they run."""
LEFT_OUT = ("make ", "pip install ", "source .venv/")
"""Commands that others run: `make` is what runs this, and installing is what tests/unit/test_wheel.py is about."""
CLIENT = "import snowflake.connector"
"""What needs an environment of its own: tests/clients/test_connectors.py has one."""
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PORT = "8085"
_PLANNED = (0, 2)
_ROW = re.compile(r"\s+")


@dataclass(slots=True)
class Reader:
    """Somebody who types what a document says, in a folder that has what the document is about."""

    folder: Path
    port: str = ""
    data: str = "shop"
    variables: dict[str, str] = field(default_factory=dict)
    printed: str = ""
    """By the last command or statement that somebody would look at."""
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def read(self, text: str) -> None:
        for language, block in _BLOCK.findall(text):
            if language == "console":
                for command in _commands(block):
                    self.type(command)
            elif language == "sql":
                self.say("snowmelt", "sql", "--data", self.data, "-f", "-", typed=block)
            elif language == "python" and CLIENT not in block:
                self.run_python(block)
            elif language == "":
                self.compare(block)

    def type(self, command: str) -> None:
        if command.startswith(LEFT_OUT):
            return
        named = re.search(r"--data (\S+)", command)
        if named:
            self.data = named[1]
        command = command.replace(_PORT, self.port)
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.variables[name] = value
        elif " serve " in command:
            self.serve(command.rstrip("& "))
        elif "sql" in command and "-q" not in command and "-f" not in command and "|" not in command:
            self.say("bash", "-c", f"{command} < /dev/null")
        else:
            self.say("bash", "-c", command)

    def say(self, *command: str, typed: str = "") -> None:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), input=typed, capture_output=True, text=True,
            timeout=DEADLINE, check=False,
        )  # fmt: skip
        # `snowmelt plan` ends with 2 where there are changes.
        fine = _PLANNED if " plan " in command[-1] else (0,)
        assert done.returncode in fine, f"{shlex.join(command)}\n{typed}\n{done.stdout}{done.stderr}"
        self.printed += done.stdout

    def serve(self, command: str) -> None:
        self.servers.append(
            subprocess.Popen(
                ["bash", "-c", command], cwd=self.folder, env=self.environment(), stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        )  # fmt: skip
        address = f"http://127.0.0.1:{self.port}/healthz"

        def answers() -> bool:
            try:
                return httpx.get(address).status_code == 200
            except httpx.TransportError:
                return False

        wait_until(answers, "the server answers")

    def run_python(self, block: str) -> None:
        self.say(sys.executable, "-c", block.replace(_PORT, self.port))
        for told in re.findall(r"print\(.*\)  # (.*)", block):
            assert told in self.printed, (told, self.printed)

    def compare(self, expected: str) -> None:
        """All lines of it were printed, in this order, with blanks as they may be."""
        lines = iter([_ROW.sub(" ", line).strip() for line in self.printed.splitlines()])
        for wanted in expected.splitlines():
            line = _ROW.sub(" ", wanted).strip()
            if line and not line.startswith("─"):
                assert line in lines, f"{wanted!r} was not printed. There is:\n{self.printed}"
        self.printed = ""

    def environment(self) -> dict[str, str]:
        known = environment(**self.variables)
        return {**known, "PATH": f"{self.folder / '.venv' / 'bin'}{os.pathsep}{known['PATH']}"}


def _commands(block: str) -> Iterator[str]:
    """What is typed: behind `$`, without comments, over as many lines as a quote is open."""
    for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        yield re.sub(r"\s{2,}#.*", "", command).strip()


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    program = folder / ".venv" / "bin" / "snowmelt"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m snowmelt "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    reader = Reader(folder, port)
    try:
        yield reader
    finally:
        for server in reader.servers:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(DEADLINE)


def _read(tmp_path: Path, document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    folder = tmp_path / "here"
    if document.is_relative_to(EXAMPLES):
        shutil.copytree(document.parent, folder)
    else:
        folder.mkdir()
        shutil.copytree(EXAMPLES, folder / "examples")
    with reading(folder) as reader:
        reader.read(text)


@pytest.mark.slow
def test_the_readme_runs_as_written(tmp_path: Path) -> None:
    _read(tmp_path, ROOT / "README.md")


def test_every_example_has_a_readme_that_is_run() -> None:
    names = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert all((EXAMPLES / name / "README.md").is_file() for name in names)
    assert set(HELD_ELSEWHERE) <= names and all((ROOT / path).is_file() for path in HELD_ELSEWHERE.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.name for path in EXAMPLES.iterdir()} - set(HELD_ELSEWHERE)))
def test_examples_run_as_written(tmp_path: Path, name: str) -> None:
    _read(tmp_path, EXAMPLES / name / "README.md")
