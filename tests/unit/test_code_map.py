"""docs/code-map.md names packages, files, classes and functions that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sources import SOURCES, paths, tree

_ROOT = SOURCES.parents[1]
_MAP = (_ROOT / "docs/code-map.md").read_text(encoding="utf-8")
_FILES = sorted(set(re.findall(r"`((?:\w+/)*\w+\.py)(?::\s+([\w.]+))?`", _MAP)))
_FOLDERS = sorted(set(re.findall(r"`((?:\w+/)+)`", _MAP)))
_MEMBERS = sorted(set(re.findall(r"`([A-Z]\w+\.[a-z]\w+)`", _MAP)))
_ROOMS = sorted([*SOURCES.glob("*/__init__.py"), *SOURCES.glob("features/*/__init__.py")])
_FROM = (SOURCES, _ROOT, SOURCES / "features/tags")
"""What names are told from; the last is the example to copy."""


def _names(tree: ast.Module) -> set[str]:
    """What a module defines: functions, classes, and members of these."""
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found | {
        f"{node.name}.{name}" for node in tree.body if isinstance(node, ast.ClassDef) for name in _own(node)
    }


def _own(node: ast.ClassDef) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name


@cache
def _classes() -> tuple[ast.ClassDef, ...]:
    return tuple(node for path in paths() for node in tree(path).body if isinstance(node, ast.ClassDef))


def _has(class_name: str, member: str) -> bool:
    """Whether a class of that name has it, or a class that it is made from."""
    nodes = [node for node in _classes() if node.name == class_name]
    return any(member in _own(node) or any(_has(ast.unparse(base), member) for base in node.bases) for node in nodes)


@pytest.mark.parametrize(("path", "name"), _FILES)
def test_a_file_is_there_with_what_is_named_of_it(path: str, name: str) -> None:
    files = [folder / path for folder in _FROM if (folder / path).exists()]
    assert files, path
    assert not name or name in _names(ast.parse(files[0].read_text(encoding="utf-8"))), name


@pytest.mark.parametrize("name", _MEMBERS)
def test_a_member_of_a_class_is_there(name: str) -> None:
    assert _has(*name.split("."))


@pytest.mark.parametrize("folder", _FOLDERS)
def test_a_folder_is_there(folder: str) -> None:
    assert any((start / folder).is_dir() for start in _FROM)


@pytest.mark.parametrize("path", _ROOMS, ids=[path.parent.name for path in _ROOMS])
def test_every_room_says_what_does_not_belong(path: Path) -> None:
    assert "Not here: " in (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


def test_every_package_is_on_it() -> None:
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}`" not in _MAP and f"`{name}/" not in _MAP} == set()
