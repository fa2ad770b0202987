"""No module imports itself in a circle, imports for types counted; but for the core of the runtime.

`make lint` runs this: import-linter checks the order of packages, not circles inside one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src/snowmelt"
_CORE = {"account", "ports", "resolver", "run", "session"}
"""An account has sessions, a session runs statements, and a statement has its account and session."""
_ONE = {f"snowmelt.runtime.{name}" for name in _CORE}


def circle(sources: Path = SOURCES) -> list[str]:
    """The modules of a circle, if there is one."""
    modules = {_name(path, sources): path for path in sources.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = {_joined(other) for other in _imports(path, modules) if other in modules}
        graph.setdefault(_joined(name), set()).update(found - {_joined(name)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _name(path: Path, sources: Path) -> str:
    return ".".join(path.relative_to(sources.parent).with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _joined(name: str) -> str:
    """The modules that may know each other count as one."""
    return "the core of the runtime" if name in _ONE else name


if __name__ == "__main__":
    if found := circle():
        sys.exit("These modules import each other in a circle: " + " -> ".join(found))
