"""Pytest imports a test file by its name alone where its folder is no package: two of one name can't be collected."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

_TESTS = Path(__file__).parents[1]


def test_no_two_test_files_have_one_name() -> None:
    collected = (path for path in _TESTS.rglob("test_*.py") if "suites" not in path.parts)
    names = Counter(path.name for path in collected if not (path.parent / "__init__.py").exists())
    assert [name for name, number in names.items() if number > 1] == []
