"""The package that users install: whole without the checkout it was built from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from playwright.sync_api import Page, expect

from tests.crash.test_processes import ROOT
from tests.serve.console.browser import opened, started
from tests.support.waiting import DEADLINE

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#link=\S+")
_PIPELINE = ("SHOP", "RAW_CHANGES", "NEW_CHANGES", "PARSE_CUSTOMERS", "CUSTOMERS", "ORDER_LINES", "SALES", "REVENUE")
"""Of the demo: a connector, a table, a stream, a task, dimensions, and dynamic tables."""


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
    # Whoever opened an account in this process made what it writes its own alone.
    before = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
            Path(folder).chmod(0o755)
            yield Path(folder)
    finally:
        os.umask(before)


def _demo(environment: Path, folder: Path, seconds: int, look: Callable[[str], None] = lambda _: None) -> str:
    """What `snowmelt demo` of an environment prints, in a folder that has nothing of the checkout. `look` is given the
    address for a browser as soon as it is printed."""
    with subprocess.Popen(
        [str(environment / "bin" / "snowmelt"), "demo", "--data", "demo", "--for", f"{seconds}s", "--rate", "10"],
        cwd=folder, env=_clean_environment(COLUMNS="120"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        printed: list[str] = []
        try:
            for line in process.stdout:
                printed.append(line)
                address = _ADDRESS.search(line)
                if address is not None:
                    look(address[0])
        except BaseException:
            process.kill()
            raise
        assert process.wait(DEADLINE) == 0, "".join(printed)
    return "".join(printed)


def _look_on(page: Page, address: str) -> None:
    """The page shows the pipeline as it comes to be and works, and nobody reloads it."""
    page.goto(address)
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    page.get_by_role("link", name="Graph").click()
    for name in _PIPELINE:
        expect(page.locator(f'[data-node="SHOP.PUBLIC.{name}"]').first).to_be_attached(timeout=DEADLINE * 1000)
    told = page.locator('[data-node="SHOP.PUBLIC.RAW_CHANGES"] .sub')
    for _ in range(3):
        expect(told).not_to_have_text(told.text_content() or "", timeout=DEADLINE * 1000)
    expect(page.locator(".edge.flow").first).to_be_attached(timeout=DEADLINE * 1000)
    page.get_by_role("link", name="Home").click()
    expect(page.locator(".arrived li", has_text="RAW_CHANGES")).to_contain_text("rows")


@pytest.fixture
def installed(wheel: Path, readable: Path) -> Path:
    """An environment with nothing in it but what `pip install snowmelt[demo]` puts there: the wheel by pip itself, and
    beside it the packages that its metadata asks for, and those that these ask for, with the files that pip installed
    for the tests."""
    environment = readable / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    packages = environment.joinpath(*Path(sysconfig.get_path("purelib")).relative_to(sys.prefix).parts)
    for path in _files_of(_needed(wheel, "demo")):
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).symlink_to(Path(sysconfig.get_path("purelib"), path).resolve())
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True, env=_clean_environment())
    return environment


def _files_of(needed: list[metadata.Distribution]) -> set[str]:
    """What these packages have installed: folders that are theirs alone as a whole, files of the others one by one."""
    names = {each.name for each in needed}
    shared = {
        file.parts[0] for each in metadata.distributions() if each.name not in names for file in each.files or ()
    }  # fmt: skip
    inside = [file for each in needed for file in each.files or () if file.parts[0] != ".."]
    return {str(file) if file.parts[0] in shared else file.parts[0] for file in inside}


def _needed(wheel: Path, extra: str) -> list[metadata.Distribution]:
    """All that pip would install with the wheel."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        own = Parser().parsestr(opened.read(name).decode()).get_all("Requires-Dist", [])
    found: dict[str, metadata.Distribution] = {}
    waiting = [(text, extra) for text in own]
    while waiting:
        text, of = waiting.pop()
        one = Requirement(text)
        if one.marker is not None and not one.marker.evaluate({"extra": of}):
            continue
        key = canonicalize_name(one.name)
        if key not in found:
            found[key] = metadata.distribution(one.name)
            waiting += [(more, "") for more in found[key].requires or ()]
        waiting += [(more, each) for each in one.extras for more in found[key].requires or ()]
    return list(found.values())


def test_the_installed_wheel_runs_the_demo_outside_of_the_checkout(installed: Path, readable: Path) -> None:
    """And somebody looks at its page while it runs."""
    asked = "import importlib.util, snowmelt; print(snowmelt.__file__, importlib.util.find_spec('pytest'))"
    where = [str(installed / "bin" / "python"), "-c", asked]
    found = subprocess.run(where, check=True, cwd=readable, env=_clean_environment(), capture_output=True, text=True)
    file, tests = found.stdout.split()
    assert Path(file).is_relative_to(installed) and tests == "None"
    looked: list[str] = []
    # The browser is there first: the shop closes after its seconds, whether or not somebody came in time to look.
    with started() as browser, opened(browser, "http://127.0.0.1") as page:

        def look(address: str) -> None:
            _look_on(page, address)
            page.goto("about:blank")
            looked.append(address)

        assert "all checks passed" in _demo(installed, readable, 5, look)
    assert looked


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
