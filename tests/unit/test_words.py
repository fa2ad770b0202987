"""One word, one meaning: the names that the glossary of docs/code-map.md settled stay settled."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import snowmelt

SOURCES = Path(snowmelt.__file__).parent
TREES = {
    path.relative_to(SOURCES).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCES.rglob("*.py"))
}
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
TOO_WIDE = {"Step", "Plan", "Outcome", "Severity", "Place"}
ONCE = {"Column", "Landing", "RefreshPlan", "RefreshOutcome"}


def _defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
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
        for path, tree in TREES.items()
        if not path.startswith(ALLOWED[word])
        for name, line in _defined(tree)
        if word in name.lower().split("_")
    ]
    assert found == [], f"write {INSTEAD[word]}"


def test_classes_carry_the_name_of_their_domain() -> None:
    counts = Counter(node.name for tree in TREES.values() for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name in TOO_WIDE if counts[name]} == set(), "as PlaybookStep, TickPlan, CheckSeverity"
    assert {name for name in ONCE if counts[name] > 1} == set(), "as PlanColumn"


def test_catalog_is_spelled_one_way() -> None:
    former_name = SOURCES / "design/antipatterns/catalogue.py"
    written = (path for path in SOURCES.rglob("*") if path.suffix in (".py", ".sql", ".yaml", ".md", ".txt"))
    wrong = [
        path for path in written if path != former_name and "catalogue" in path.read_text(encoding="utf-8").lower()
    ]
    assert wrong == []
