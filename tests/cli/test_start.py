"""How the program imports, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from snowmelt.cli.imports import import_quickly
from tests.crash.test_processes import environment

CLASSES = """
from dataclasses import dataclass, field

@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2

@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = "n"
    inside: list = field(default_factory=list, compare=False, repr=False)

@dataclass(slots=True)
class Open:
    x: int

@dataclass(frozen=True, order=True)
class Ordered:
    x: int
"""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, with a command that does what the code says."""
    script = (
        "import sys, threading, atexit, typer; sys.argv = ['snowmelt', '--version']; import snowmelt.cli.main as main\n"
        f"def app():\n    {code}\n"
        "main.app = app\nfrom snowmelt.cli.start import run\nrun()"
    )
    return subprocess.run(
        [sys.executable, "-c", script], env=environment(), check=False, capture_output=True, text=True
    )


def test_dataclasses_are_what_they_always_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quickly_imported.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(tmp_path)
    found = import_quickly("quickly_imported")
    point, named = found.Point(1), found.Named(1, 2, "a")
    for _ in range(2):
        assert repr(point) == "Point(x=1, y=2)"
        assert repr(named) == "Named(x=1, y=2, name='a')"
        assert point == found.Point(1, 2) != found.Point(2)
        assert point != named
        assert hash(point) == hash(found.Point(1)) != hash(named)
        assert found.Ordered(1) < found.Ordered(2)
        with pytest.raises(FrozenInstanceError):
            point.x = 3
        with pytest.raises(FrozenInstanceError):
            del named.name
    with pytest.raises(TypeError, match="unhashable"):
        hash(found.Open(1))
    assert found.Point.__eq__.__qualname__ == "Point.__eq__"
    assert "compiled" not in found.Point.__hash__.__code__.co_freevars


@pytest.mark.parametrize(
    ("code", "status", "output", "error"),
    [
        ("raise SystemExit", 0, "", ""),
        ("print('a' * 100_000, end=''); raise SystemExit(3)", 3, "a" * 100_000, ""),
        ("atexit.register(print, 'last'); print('first'); raise SystemExit(0)", 0, "first\nlast\n", ""),
        ("raise SystemExit('wrong')", 1, "", "wrong\n"),
        ("threading.Timer(0.2, print, ['later']).start(); raise SystemExit(0)", 0, "later\n", ""),
    ],
)
def test_the_program_ends_with_its_code_and_all_of_its_output(code: str, status: int, output: str, error: str) -> None:
    done = ended(code)
    assert (done.returncode, done.stdout, done.stderr) == (status, output, error)


STOPPED = """
import sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
sys.argv = ["snowmelt", "sql", "--data", {data!r}, "-q", "SELECT 1"]
from snowmelt.cli.start import run
run()
"""


@pytest.mark.parametrize("module", ["typer", "snowmelt.cli.sql", "snowmelt.accounts", "sqlalchemy", "pyarrow"])
def test_ctrl_c_during_an_import_prints_no_traceback(tmp_path: Path, module: str) -> None:
    """The first second of a command is imports: that is where Ctrl-C falls most often."""
    script = STOPPED.format(module=module, data=str(tmp_path / "data"))
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), check=False, capture_output=True, text=True
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr and "KeyboardInterrupt" not in done.stderr
