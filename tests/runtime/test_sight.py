"""Statements look at the state store with the eyes of their session, everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import snowmelt

_SOURCES = Path(snowmelt.__file__).parent
_AROUND = re.compile(r"\brun\.account\.state\.(?:read|begin)\b")


def test_no_handler_looks_around_the_limits_of_its_role() -> None:
    found = [
        f"{path.relative_to(_SOURCES)}:{number}"
        for path in sorted((_SOURCES / "service").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if _AROUND.search(line)
    ]
    assert not found, "use run.state: what a role may not know of must not be found"
