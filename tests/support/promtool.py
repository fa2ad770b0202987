"""Prometheus' own checker: installed here, or from Debian's package where that can be had."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support.debian import unpacked
from tests.support.waiting import DEADLINE


@pytest.fixture(scope="session")
def promtool() -> str:
    """Import it into a conftest to use it."""
    return shutil.which("promtool") or str(unpacked("prometheus") / "usr/bin/promtool")


def checked(promtool: str, *arguments: str, given: str | None = None) -> None:
    done = subprocess.run(
        [promtool, *arguments], input=given, capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    assert done.returncode == 0, done.stdout + done.stderr
