"""docs/code-map.md names files and functions that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import snowmelt

SOURCES = Path(snowmelt.__file__).parent
MAP = (SOURCES.parents[1] / "docs/code-map.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?::\s+([\w.]+))?`", MAP)))


def _names(tree: ast.Module) -> set[str]:
    defined = (ast.FunctionDef, ast.ClassDef)
    found = {node.name for node in tree.body if isinstance(node, defined)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, defined)}
    return found


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, name in NAMED if "/" in path])
def test_what_it_names_is_there(path: str, name: str) -> None:
    file = SOURCES / path if (SOURCES / path).exists() else SOURCES.parents[1] / path
    assert file.exists(), path
    assert not name or name in _names(ast.parse(file.read_text(encoding="utf-8"))), name


def test_every_package_is_on_it() -> None:
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}`" not in MAP and f"`{name}/" not in MAP} == set()
