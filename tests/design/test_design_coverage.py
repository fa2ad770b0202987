"""The page of what was asked: complete, and each test that it names is there."""

from __future__ import annotations

import re
from functools import cache

from tests.design.building import HERE

ROOT = HERE.parents[1]
PAGE = (ROOT / "docs" / "reference" / "design-coverage.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([BD])(\d+) \| (.+?) \| (yes|half|no) \| (.*?) ?\| (.*?) ?\|$", PAGE, re.MULTILINE)


@cache
def _functions(file: str) -> set[str]:
    path = (ROOT if "/" in file else HERE) / file
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_thing_that_was_asked_has_a_line() -> None:
    numbers = [(part, int(number)) for part, number, *_ in ROWS]
    assert numbers == [*(("B", number) for number in range(1, 101)), *(("D", number) for number in range(1, 61))]


def test_every_line_names_tests_that_are_there() -> None:
    """And says in words what does not hold."""
    problems = []
    for part, number, _, state, words, shown in ROWS:
        tests = re.findall(r"`([\w/.]+)::(\w+)`", shown)
        wrong = [f"{file}::{name}" for file, name in tests if name not in _functions(file)]
        if wrong or (not tests and state != "no") or (not words and state != "yes"):
            problems.append((f"{part}{number}", wrong))
    assert problems == []
