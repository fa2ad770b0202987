"""All regular expressions of a source tree: where they stand, what they are, and how they are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USES = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})


@dataclass(frozen=True, slots=True)
class RegularExpression:
    file: str
    name: str
    pattern: re.Pattern[Any] | None
    """None for one that is put together while the program runs."""
    methods: frozenset[str]


def regular_expressions(root: Path) -> Iterator[RegularExpression]:
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "import re\n" in text:
            yield from _in_module(path.relative_to(root).as_posix(), ast.parse(text))


def _value(node: ast.expr, file: str, known: dict[str, Any]) -> Any:
    """What an expression of constants gives. Raises for all others."""
    return eval(compile(ast.Expression(node), file, "eval"), dict(known))


def _in_module(file: str, tree: ast.Module) -> Iterator[RegularExpression]:
    known: dict[str, Any] = {"re": re}
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in USES and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    named: dict[int, str] = {}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and value is not None:
            named[id(value)] = target.id
            with suppress(Exception):
                known[target.id] = _value(value, file, known)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        if node.func.attr not in USES | {"compile"}:
            continue
        name = named.get(id(node), f"line {node.lineno}")
        flags = list(node.args[1:]) if node.func.attr == "compile" else []
        flags += [item.value for item in node.keywords if item.arg == "flags"]
        if node.func.attr in ("search", "match", "fullmatch", "findall", "finditer") and len(node.args) > 2:
            flags.append(node.args[2])
        try:
            pattern = re.compile(*[_value(part, file, known) for part in (node.args[0], *flags)])
        except Exception:
            pattern = None
        methods = uses.get(name, {"search"}) if node.func.attr == "compile" else {node.func.attr}
        yield RegularExpression(file, name, pattern, frozenset(methods))
