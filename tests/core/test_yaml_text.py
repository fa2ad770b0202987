"""YAML of others: what it may stand for is bounded before anything is made of it, and there is one way to read it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import snowmelt
from snowmelt.core.yaml_text import DEEPEST, compose_yaml, load_yaml

NINE = "abcdefgh"
BOMB = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in pairwise(NINE)
)
TOO_MUCH = {
    "brackets": "a: " + "[" * 200_000,
    "braces": "{a: " * 200_000,
    "dashes": "- " * 50_000,
    "keys": "? " * 50_000,
    "lines": "\n".join(" " * depth + "a:" for depth in range(DEEPEST + 2)),
    "aliases of aliases": BOMB,
    "inside itself": "a: &a [*a]",
}


@pytest.mark.parametrize("read", [load_yaml, compose_yaml])
@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_stands_for_too_much_is_refused_with_its_line(read: object, text: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        read(text)  # type: ignore[operator]
    assert caught.value.problem_mark is not None and "this " in str(caught.value.problem)


def test_aliases_and_levels_as_people_write_them_are_read() -> None:
    text = "base: &base {size: XS}\none: {<<: *base, name: a}\ntwo: *base"
    assert load_yaml(text)["one"] == {"size": "XS", "name": "a"} and load_yaml(text)["two"] == {"size": "XS"}
    assert load_yaml("[" * DEEPEST + "]" * DEEPEST)
    assert load_yaml("") is None and compose_yaml("") is None


def test_there_is_one_way_to_read_yaml() -> None:
    package = Path(snowmelt.__file__).parent
    reads = re.compile(r"\byaml\.(safe_)?(load|compose|parse)(_all)?\(|\byaml\.(full|unsafe)_load")
    found = [
        str(file.relative_to(package)) for file in sorted(package.rglob("*.py"))
        if reads.search(file.read_text(encoding="utf-8"))
    ]  # fmt: skip
    # What built projects run stands in templates, and reads files of their owners.
    assert [name for name in found if "templates" not in name] == ["core/yaml_text.py"]
