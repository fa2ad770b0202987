"""The package that users install: whole without the checkout it was built from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
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


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder outside of the checkout. Where root tests, PostgreSQL runs as somebody who reads what everybody may."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _demo(environment: Path, folder: Path, seconds: int) -> str:
    """What `snowmelt demo` of an environment prints, in a folder that has nothing of the checkout."""
    done = subprocess.run(
        [str(environment / "bin" / "snowmelt"), "demo", "--data", "demo", "--for", f"{seconds}s", "--rate", "10"],
        cwd=folder, env=_clean_environment(COLUMNS="120"), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_installed_wheel_runs_the_demo_outside_of_the_checkout(wheel: Path, readable: Path) -> None:
    """An environment of its own, to which pip installs the wheel. The packages that it needs are those of this one,
    whose own Snowmelt is not among them: what leads to the checkout does not count in a folder that is only named."""
    environment = readable / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    packages = environment.joinpath(*Path(sysconfig.get_path("purelib")).relative_to(sys.prefix).parts)
    (packages / "packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True, env=_clean_environment())
    where = [str(environment / "bin" / "python"), "-c", "import snowmelt; print(snowmelt.__file__)"]
    found = subprocess.run(where, check=True, cwd=readable, env=_clean_environment(), capture_output=True, text=True)
    assert Path(found.stdout.strip()).is_relative_to(packages)
    assert "all checks passed" in _demo(environment, readable, 1)


@pytest.mark.slow
def test_the_demo_runs_in_an_environment_that_has_nothing_else(wheel: Path, readable: Path) -> None:
    environment = readable / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    locked = (line.removesuffix("\\").strip() for line in (ROOT / "requirements-dev.lock").read_text().splitlines())
    constraints = readable / "constraints.txt"
    constraints.write_text("\n".join(line for line in locked if "==" in line and not line.startswith("#")))
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(constraints), f"{wheel}[demo]"]
    subprocess.run(install, check=True, cwd=readable, env=_clean_environment())
    assert "all checks passed" in _demo(environment, readable, 20)
