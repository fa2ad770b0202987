"""The log store that Spark has for S3: a jar that is made from the source beside it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tools import log_store


def test_the_jar_is_that_of_the_source() -> None:
    javac = shutil.which("javac")
    version = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True) if javac else None
    if version is None or not re.match(r"javac 17\b", version.stdout + version.stderr):
        pytest.skip("there is no compiler of Java 17 here")
    assert log_store.JAR.read_bytes() == log_store.jar_of(log_store.compiled())
