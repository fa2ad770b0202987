"""The function reference, from the tested values in tests/slt/functions.

Each `# function: NAME` heading starts a function; the comment lines below it describe it, `# differs: …` says where
plain Spark would answer differently, and the query records that follow are its examples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.sql.functions.catalog import FUNCTIONS

SOURCE = Path("tests/slt/functions")
TARGET = Path("docs/reference/functions.md")
_HEADING = re.compile(r"# functions?: (.+)")
_DIFFERS = re.compile(r"# differs: (.+)")


@dataclass
class Documented:
    """One function, or several that share their examples."""

    names: tuple[str, ...]
    description: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    examples: list[tuple[str, list[str]]] = field(default_factory=list)


def read(folder: Path) -> list[Documented]:
    """All documented functions of a folder of .slt files."""
    found: list[Documented] = []
    for path in sorted(folder.glob("*.slt")):
        found.extend(_read_file(path.read_text(encoding="utf-8")))
    return found


def _read_file(text: str) -> list[Documented]:
    found: list[Documented] = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().split("\n")
        comments = [line for line in lines if line.startswith("#")]
        for line in comments:
            heading, differs = _HEADING.match(line), _DIFFERS.match(line)
            if heading:
                found.append(Documented(tuple(name.strip() for name in heading[1].split(","))))
            elif found and differs:
                found[-1].differs.append(differs[1])
            elif found:
                found[-1].description.append(line.removeprefix("#").strip())
        rest = [line for line in lines if not line.startswith("#")]
        if found and rest and rest[0].startswith("query") and "----" in rest:
            split = rest.index("----")
            found[-1].examples.append((" ".join(rest[1:split]), rest[split + 1 :]))
    return found


def undocumented(documented: list[Documented]) -> list[str]:
    """Functions of the allow-list that no record tests by name."""
    named = {name.upper() for item in documented for name in item.names if item.examples}
    return sorted({name for name, function in FUNCTIONS.items() if function.refusal is None} - named)


def render(documented: list[Documented]) -> str:
    count = sum(1 for function in FUNCTIONS.values() if function.refusal is None)
    lines = [
        "# Functions",
        "",
        f"{count} functions, each with values that the tests check on Spark. A function that is not here is an error "
        "that names it and the nearest one that is.",
        "",
    ]
    for item in sorted(documented, key=lambda entry: entry.names):
        lines += [f"## {', '.join(item.names)}", ""]
        if item.description:
            lines += [" ".join(item.description), ""]
        lines += [f"*Differs from plain Spark:* {text}" for text in item.differs]
        lines += [""] if item.differs else []
        if item.examples:
            lines.append("```sql")
            for sql, rows in item.examples:
                lines.append(sql)
                lines += [f"-- {row}" for row in rows]
            lines += ["```", ""]
    return "\n".join(lines)
