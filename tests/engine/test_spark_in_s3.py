"""Spark reads and writes tables in S3, and its commits are conditional."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.crash.driver import ROOT


def test_spark_writes_on_condition(tmp_path: Path) -> None:
    """In a process of its own, because one process has one Spark, and that of the other tests has no S3."""
    command = [sys.executable, "-m", "tests.engine.spark_in_s3", str(tmp_path / "data")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    # Of 2000 rows 667 are multiples of three, and 84 of the 250 that were merged.
    assert found["counted"] == [[1333, 1333, 166]]
    assert {condition for condition, _ in found["entries"]} == {"*"}
    assert sum(agent == "Hadoop" for _, agent in found["entries"]) >= 4
    assert found["met"]
    assert found["secret_in"] == []
