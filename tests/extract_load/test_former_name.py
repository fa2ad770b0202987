"""Projects that were built before the rename import `snowmelt.pipeline`: they still run, and are told the new name."""

from __future__ import annotations

import subprocess
import sys

_OLD_PROJECT = """
from snowmelt.pipeline import Extractor
from snowmelt.pipeline.capturing import catch_up
from snowmelt.design.antipatterns.catalogue import Level
from snowmelt import extract_load
from snowmelt.extract_load import capturing

assert Extractor is extract_load.Extractor
assert catch_up is capturing.catch_up
"""


def test_the_former_name_gives_the_same_classes_and_a_warning() -> None:
    done = subprocess.run([sys.executable, "-c", _OLD_PROJECT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "FutureWarning: snowmelt.pipeline is now called snowmelt.extract_load" in done.stderr
