"""One operator, one file: every operator has all methods that the passes call, and no pass asks which one it has."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from snowmelt import ivm
from snowmelt.ivm import operators
from snowmelt.ivm.operators.base import Leaf, Operator, Unary

ROOT = Path(ivm.__path__[0])
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
TOGETHER = (("affected", "group_keys"), ("state", "grow"), ("grow", "state"))
"""What an operator must say too if it says something."""


def _defined() -> dict[str, list[type[Operator]]]:
    """The operator classes of each file."""
    found: dict[str, list[type[Operator]]] = {}
    for module in iter_modules(operators.__path__):
        content = vars(import_module(f"{operators.__name__}.{module.name}")).values()
        own = [one for one in content if isinstance(one, type) and one.__module__.endswith(f".{module.name}")]
        found[module.name] = [one for one in own if issubclass(one, Operator)]
    del found["base"]
    return found


DEFINED = _defined()
CLASSES = [one for classes in DEFINED.values() for one in classes]


def test_every_file_has_one_operator() -> None:
    assert len(DEFINED) >= 11
    assert {name: len(classes) for name, classes in DEFINED.items()} == dict.fromkeys(DEFINED, 1)
    for name, (one,) in DEFINED.items():
        assert one.__name__.lower() == name.replace("_", "")


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_an_operator_has_what_the_passes_call(one: type[Operator]) -> None:
    assert not inspect.isabstract(one), sorted(one.__abstractmethods__)
    said = {name for base in one.__mro__ if base not in (Operator, Unary, Leaf) for name in vars(base)}
    for name, other in TOGETHER:
        assert name not in said or other in said, f"{one.__name__} has {name} and no {other}"


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_what_an_operator_can_do_any_operator_can_be_asked(one: type[Operator]) -> None:
    """A public method that the base has not could only be called by a pass that knows the class."""
    fields = set(getattr(one, "__dataclass_fields__", ()))
    public = {name for name in vars(one) if not name.startswith("_")} - fields
    assert public <= set(dir(Operator)) | set(dir(Unary)), public - set(dir(Operator))


def asked_for(source: str, names: set[str]) -> Iterator[str]:
    """Where a source asks which operator a node is."""
    for node in ast.walk(ast.parse(source)):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asked = list(node.args[1:]) if node.func.id in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            asked = [node]
        elif isinstance(node, ast.Dict):
            asked = [key for key in node.keys if isinstance(key, ast.Name)]
        elif isinstance(node, ast.ImportFrom) and node.module == "functools":
            yield from (f"line {node.lineno}: {alias.name}" for alias in node.names if "singledispatch" in alias.name)
        for tree in asked:
            # `exp.Window` is another class: only plain names are operators.
            found = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} & names
            yield from (f"line {getattr(node, 'lineno', 0)}: {name}" for name in sorted(found))


@pytest.mark.parametrize("module", MODULES)
def test_no_pass_asks_which_operator_it_has(module: str) -> None:
    names = {one.__name__ for one in CLASSES} | {"Unary", "Leaf"}
    assert not list(asked_for((ROOT / module).read_text(), names))


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(node, Scan)",
        "isinstance(node, exp.Union | Filter)",
        "issubclass(one, (Scan, Filter))",
        "match node:\n    case Filter(condition=condition):\n        pass",
        "type(node) is Scan",
        "{Scan: 1}[type(node)]",
        "from functools import singledispatchmethod",
    ],
)
def test_the_check_finds_every_way_to_ask(source: str) -> None:
    assert list(asked_for(source, {"Scan", "Filter"}))


def test_the_check_knows_expressions_from_operators() -> None:
    assert not list(asked_for("isinstance(tree, exp.Filter | exp.Scan) and Filter(node, tree)", {"Scan", "Filter"}))


@pytest.mark.parametrize("module", MODULES)
def test_files_stay_short(module: str) -> None:
    assert len((ROOT / module).read_text().splitlines()) <= 400
