"""The anti-patterns that are looked for (antipatterns.yaml), and what a finding of one is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files

from snowmelt.core.yaml_text import load_yaml


class SarifLevel(StrEnum):
    """SARIF's words."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


FAMILIES = {
    "PD": "pipeline design", "ES": "event streaming", "DW": "warehouse and dbt", "DO": "observability",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AntiPattern:
    id: str
    title: str
    level: SarifLevel
    looked_for_in: tuple[str, ...]
    """Where it is looked for: design, sql, account."""
    looks: str
    hurts: str
    remedy: str
    fixable: bool

    @property
    def family(self) -> str:
        return FAMILIES[self.id[:2]]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a file: the text between two offsets becomes another one."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class LintFinding:
    pattern: AntiPattern
    file: str
    """The file, or the name of the design or account."""
    line: int
    """From 1; 0 where there is no file."""
    object: str
    message: str
    edits: tuple[Edit, ...] = field(default=(), compare=False)

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.object or self.file


@dataclass(frozen=True, slots=True)
class Unread:
    """What was not judged: whoever reads a report must not take silence for a verdict."""

    file: str
    line: int
    why: str


@cache
def known_antipatterns() -> dict[str, AntiPattern]:
    text = files("snowmelt.design.antipatterns").joinpath("antipatterns.yaml").read_text(encoding="utf-8")
    rows = load_yaml(text)
    return {
        row["id"]: AntiPattern(
            row["id"], row["title"], SarifLevel(row["severity"]), tuple(row["in"]), row["looks"], row["hurts"],
            row["remedy"], row.get("fixable", False),
        )
        for row in rows
    }  # fmt: skip


def ordered(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """The findings by location, then id; each once."""
    return sorted(set(findings), key=lambda item: (item.file, item.line, item.pattern.id, item.object, item.message))
