"""Every statement in `examples/*.txt` parses to what is written below it.

A block is a statement, a line `----`, and the outcome; blank lines separate blocks. With
SNOWMELT_REWRITE=1 in the environment the outcomes are written anew: read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sql.statements.rendering import outcome

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.txt"))


def blocks(path: Path) -> list[tuple[str, str]]:
    found = []
    for block in path.read_text().strip().split("\n\n"):
        sql, _, expected = block.partition("\n----\n")
        found.append((sql, expected.strip()))
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    if os.environ.get("SNOWMELT_REWRITE"):
        written = "\n\n".join(f"{sql}\n----\n{outcome(sql)}" for sql, _ in blocks(path))
        path.write_text(written + "\n")
    wrong = [
        f"{sql}\n  expected: {expected}\n  got:      {got}"
        for sql, expected in blocks(path)
        if (got := outcome(sql)) != expected
    ]
    assert not wrong, "\n\n".join(wrong)


def test_there_are_enough_examples() -> None:
    assert sum(len(blocks(path)) for path in EXAMPLES) >= 250
