"""The product's own modules, parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import snowmelt

SOURCES = Path(snowmelt.__file__).parent


@cache
def paths() -> tuple[Path, ...]:
    return tuple(sorted(SOURCES.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))
