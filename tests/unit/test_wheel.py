"""The package that users install: whole without the checkout it was built from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.crash.test_processes import ROOT

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools writes into the folder that it builds."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), str(copy)]
    subprocess.run(build, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def _clean_environment(**more: str) -> dict[str, str]:
    kept = {
        key: value for key, value in os.environ.items()
        if key == "SNOWMELT_JARS" or not key.startswith(("SNOWMELT_", "PYTHON", "VIRTUAL_ENV"))
    }  # fmt: skip
    return {**kept, **more}


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        packed = set(opened.namelist())
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix() for path in (source / "snowmelt").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.name.startswith(".")
    }  # fmt: skip
    assert files - packed == set()


def test_it_runs_from_what_the_wheel_has(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder)
    script = "import snowmelt; print(snowmelt.__file__); from snowmelt.cli.start import run; run()"
    query = "SELECT PARSE_JSON('{\"a\": [1, 2]}'):a[1]::INT AS n"
    done = subprocess.run(
        [sys.executable, "-c", script, "sql", "--data", "d", "--format", "csv", "-q", query],
        env=_clean_environment(PYTHONPATH=str(folder)), cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    where, *printed = done.stdout.split()
    assert Path(where).is_relative_to(folder)
    assert printed == ["N", "2"]


@pytest.mark.slow
def test_the_demo_runs_in_an_environment_that_has_nothing_else(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    locked = (line.removesuffix("\\").strip() for line in (ROOT / "requirements-dev.lock").read_text().splitlines())
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(line for line in locked if "==" in line and not line.startswith("#")))
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(constraints), f"{wheel}[demo]"]
    subprocess.run(install, check=True, cwd=tmp_path, env=_clean_environment())
    done = subprocess.run(
        [str(environment / "bin" / "snowmelt"), "demo", "--data", "demo", "--for", "20s"],
        cwd=tmp_path, env=_clean_environment(COLUMNS="120"), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
