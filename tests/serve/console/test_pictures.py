"""Pictures in the documents are those that the tests take, each of them."""

from __future__ import annotations

import re

from tests.crash.test_processes import ROOT
from tests.serve.console.test_pages import test_lists as lists

_IMAGES = ROOT / "docs" / "images"
_TAKEN = re.compile(r'picture\(page, "(console-[\w-]+)"\)')
_SHOWN = re.compile(r"\]\([./\w]*images/(console-[\w-]+)\.png\)")


def test_each_picture_is_taken_by_a_test_and_shown_in_the_reference() -> None:
    tests = (file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "serve" / "console").glob("test_*.py"))
    (addresses,) = (mark.args[1] for mark in lists.pytestmark if mark.name == "parametrize")
    taken = {name for text in tests for name in _TAKEN.findall(text)} | {f"console-{one[0]}" for one in addresses}
    reference = set(_SHOWN.findall((ROOT / "docs" / "reference" / "console.md").read_text(encoding="utf-8")))
    assert taken == {file.stem for file in _IMAGES.glob("console-*.png")} == reference
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:12]
    assert any(_SHOWN.search(line) for line in first), "README shows the console on its first screen"
