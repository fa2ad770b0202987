"""What the page on reliability names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reliability.md"


def test_every_test_that_the_page_names_is_there() -> None:
    folder = ""
    for name in re.findall(r"`((?:tests/)?[\w/]+(?:\.py)?)`", PAGE.read_text(encoding="utf-8")):
        if name.startswith("tests/"):
            folder = name if not name.endswith(".py") else name.rpartition("/")[0]
            assert (ROOT / name).exists(), name
        elif name.startswith("test_"):
            assert (ROOT / folder / name).exists(), f"{folder}/{name}"
