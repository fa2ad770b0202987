"""Whether a project still is what its design says: what `snowmelt build --check` answers.

Code is its owner's: it may be edited. What states the design must agree with it: SQL, configuration, and the
specification, whose change log alone is free to grow.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.design.building.merging import has_conflicts
from snowmelt.design.building.writing import last_built

SPECIFICATION = "data-pipeline-spec.md"
_STATES_THE_DESIGN = re.compile(r"sql/|config/|monitoring/|playbooks/|design\.yaml$")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_FREE = "Change log"
_SHOWN_LINES = 12


@dataclass(slots=True)
class CheckedProject:
    problems: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    """Somebody's own, and allowed."""


def check_project(folder: Path, files: Mapping[str, str]) -> CheckedProject:
    base = last_built(folder)
    found = CheckedProject()
    for path, built in files.items():
        target = folder / path
        if not target.is_file():
            found.problems.append(f"{path} is not there")
            continue
        text = target.read_text(encoding="utf-8")
        if text == built:
            continue
        if has_conflicts(text):
            found.problems.append(f"{path} has conflicts that are not settled")
        elif path == SPECIFICATION:
            found.problems += [f"{path}: {problem}" for problem in _sections(text, built)]
        elif _STATES_THE_DESIGN.match(path):
            found.problems.append(f"{path} is not what the design says\n{_difference(text, built)}")
        elif base.get(path) != built:
            found.problems.append(f"{path} would be built anew: build again")
        else:
            found.edited.append(path)
    return found


def _sections(text: str, built: str) -> Iterator[str]:
    there = _split(text)
    for title, body in _split(built).items():
        if title not in there:
            yield f"the section {title} is missing"
        elif title == _FREE:
            if not there[title].strip():
                yield f"the section {title} is empty"
        elif there[title].strip() != body.strip():
            yield f"the section {title} is not what the design says\n{_difference(there[title], body)}"


def _split(text: str) -> dict[str, str]:
    """The sections of a document by heading; what is before the first one has the empty name."""
    parts = _HEADING.split(text)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def _difference(there: str, built: str) -> str:
    lines = difflib.unified_diff(there.splitlines(), built.splitlines(), "there", "design", lineterm="", n=0)
    shown = [f"    {line}" for line in list(lines)[2:]]
    rest = [f"    … and {len(shown) - _SHOWN_LINES} more lines"] if len(shown) > _SHOWN_LINES else []
    return "\n".join([*shown[:_SHOWN_LINES], *rest])
