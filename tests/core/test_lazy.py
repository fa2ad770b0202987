"""Imports that wait until what they name is used."""

from __future__ import annotations

import ast
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import snowmelt

SOURCES = Path(snowmelt.__file__).parent
BEGINNING = "from snowmelt.core.lazy import lazy_imports\nwith lazy_imports():\n"


def executed(block: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "example"}
    exec(BEGINNING + "".join(f"    {line}\n" for line in block.splitlines()), names)
    return names


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "lazy_example").mkdir()
    (tmp_path / "lazy_example" / "__init__.py").touch()
    text = "LIMIT = 3\nclass Thing: ...\ndef double(number, *, plus=0): return 2 * number + plus\n"
    (tmp_path / "lazy_example" / "inner.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lazy_example", "lazy_example.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "lazy_example.inner"


def test_a_module_is_imported_when_something_of_it_is_used(module: str) -> None:
    inner = executed("from lazy_example import inner")["inner"]
    assert module not in sys.modules
    assert inner.LIMIT == 3  # type: ignore[attr-defined]
    assert module in sys.modules


def test_a_function_is_imported_when_it_is_called(module: str) -> None:
    twice = executed("from lazy_example.inner import double as twice")["twice"]
    assert repr(twice) == "<lazy lazy_example.inner.double>"
    assert module not in sys.modules
    assert twice(2, plus=1) == 5  # type: ignore[operator]


def test_a_class_is_refused(module: str) -> None:
    """`isinstance` and tables by class would see something else than the class."""
    thing = executed("from lazy_example.inner import Thing")["Thing"]
    with pytest.raises(TypeError, match="Thing> is a class"):
        thing()  # type: ignore[operator]


@pytest.mark.parametrize("line", ["import lazy_example.inner", "from . import inner"])
def test_what_would_bind_another_name_is_refused(module: str, line: str) -> None:
    with pytest.raises(ImportError):
        executed(line)


def test_after_the_block_and_in_other_threads_imports_are_as_ever(module: str) -> None:
    found: list[object] = []

    def other() -> None:
        found.append(import_module("lazy_example.inner"))
        names: dict[str, object] = {"__name__": "other"}
        exec("from lazy_example import inner", names)
        found.append(names["inner"])

    names: dict[str, object] = {"__name__": "example", "other": threading.Thread(target=other)}
    exec(BEGINNING + "    import json\n    other.start()\n    other.join()\nimport math", names)
    assert isinstance(names["math"], ModuleType)
    assert not isinstance(names["json"], ModuleType)
    assert found[0] is found[1]


def lazily_imported() -> list[tuple[str, str, str]]:
    """Every name that the sources import lazily: the file, the module, the name."""
    found = []
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "with lazy_imports()" not in text:
            continue
        for block in ast.parse(text).body:
            if not (isinstance(block, ast.With) and ast.unparse(block.items[0]) == "lazy_imports()"):
                continue
            for line in block.body:
                assert isinstance(line, ast.Import | ast.ImportFrom), f"{path}: only imports may stand there"
                origin = line.module if isinstance(line, ast.ImportFrom) else None
                found += [(str(path), origin or name.name, name.name if origin else "") for name in line.names]
    return found


def test_all_that_is_imported_lazily_is_there_and_is_a_module_or_a_function() -> None:
    for path, origin, name in lazily_imported():
        try:
            found = getattr(import_module(origin), name) if name else import_module(origin)
        except AttributeError:
            found = import_module(f"{origin}.{name}")
        assert isinstance(found, ModuleType) or (callable(found) and not isinstance(found, type)), (path, origin, name)
