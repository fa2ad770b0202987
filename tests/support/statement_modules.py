"""All modules that declare statements: the language's own, and those in the rooms of features."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import snowmelt

_SOURCES = Path(snowmelt.__file__).parent


def statement_modules() -> Iterator[ModuleType]:
    # `kinds` is how features add statements.
    own = [path for path in sorted(_SOURCES.glob("sql/statements/*.py")) if path.stem not in ("kinds", "__init__")]
    for path in [*own, *sorted(_SOURCES.glob("features/*/*statements.py"))]:
        yield importlib.import_module(".".join(path.relative_to(_SOURCES.parent).with_suffix("").parts))
