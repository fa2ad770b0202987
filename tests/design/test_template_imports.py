"""What built projects import from Snowmelt is there: templates are text, which no type checker reads."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.sources import SOURCES

TEMPLATES = sorted((SOURCES / "design" / "building" / "templates").rglob("*.txt"))
_MARK = re.compile(r"<<.*?>>")
_IMPORT = re.compile(r"^\s*from (snowmelt[\w.]*) import (\([^)]*\)|[^\n#]+)", re.MULTILINE)


def _imported(text: str) -> list[tuple[str, str]]:
    found = _IMPORT.findall(_MARK.sub("", text))
    return [(module, name.split(" as ")[0].strip()) for module, names in found for name in _split(names)]


def _split(names: str) -> list[str]:
    return [name for name in re.split(r"[,\n]", names.strip("()")) if name.strip()]


def test_templates_import_something() -> None:
    assert sum(len(_imported(path.read_text(encoding="utf-8"))) for path in TEMPLATES) > 50


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_a_template_imports_is_there(path: Path) -> None:
    for module, name in _imported(path.read_text(encoding="utf-8")):
        known = hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
        assert known, f"from {module} import {name}"
