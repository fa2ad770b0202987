"""One word, one meaning: the names that the glossary of docs/code-map.md settled stay settled."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sources import SOURCES, nodes, paths, tree

# A place is where a flow goes on in its source: a word of extract_load's interface, and of files that it wrote.
ALLOWED = {
    "place": ("extract_load/", "playbooks/progress.py"),
    "places": ("extract_load/",),
    "told": ("state/observing_model.py",),
    "catalogue": (),
}
INSTEAD = {
    "place": "position, index, location, slot or stage",
    "places": "positions, indexes, locations, slots or stages",
    "told": "the name of what it holds",
    "catalogue": "catalog, or data catalog",
}
TOO_WIDE = {
    "Step", "Plan", "Outcome", "Severity", "Place", "Written", "Request", "Verdict", "Finding", "Checked",
}  # fmt: skip


@cache
def _defined() -> list[tuple[str, str, int]]:
    """Every name that is defined: its file, the name, the line."""
    return [(path.relative_to(SOURCES).as_posix(), *each) for path in paths() for each in _names(path)]


def _names(path: Path) -> Iterator[tuple[str, int]]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


@pytest.mark.parametrize("word", sorted(ALLOWED))
def test_a_word_that_meant_too_much_is_in_no_name(word: str) -> None:
    found = [
        f"{path}:{line}: {name}"
        for path, name, line in _defined()
        if word in name.lower().split("_") and not path.startswith(ALLOWED[word])
    ]
    assert found == [], f"write {INSTEAD[word]}"


def test_classes_carry_the_name_of_their_domain() -> None:
    names = {node.name for path in paths() for node in tree(path).body if isinstance(node, ast.ClassDef)}
    assert names & TOO_WIDE == set(), "as PlaybookStep, TickPlan, CheckSeverity"


def test_every_class_has_a_name_of_its_own() -> None:
    modules = defaultdict(list)
    for path in paths():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(path.relative_to(SOURCES).as_posix())
    shared = {name: found for name, found in modules.items() if len(found) > 1}
    assert shared == {}, "a domain's word: as PlanColumn"


def test_catalog_is_spelled_one_way() -> None:
    former_name = SOURCES / "design/antipatterns/catalogue.py"
    written = (path for path in SOURCES.rglob("*") if path.suffix in (".py", ".sql", ".yaml", ".md", ".txt"))
    wrong = [
        path for path in written if path != former_name and "catalogue" in path.read_text(encoding="utf-8").lower()
    ]
    assert wrong == []
