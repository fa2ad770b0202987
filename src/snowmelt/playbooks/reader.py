"""Reading parts of a playbook's file, with problems collected on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from snowmelt.playbooks.markdown import Section
from snowmelt.playbooks.model import Problem, Sql

Parsed = TypeVar("Parsed")
_KEY = re.compile(r"([A-Za-z][A-Za-z -]*?)\s*:\s*(.*)", re.DOTALL)


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


class Reader:
    """Collects problems while it reads."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, line: int, text: str) -> None:
        self.problems.append(Problem(line, text))

    def attempt(self, line: int, parse: Callable[[], Parsed]) -> Parsed | None:
        """What `parse` gives; its ValueError is a problem of that line."""
        try:
            return parse()
        except ValueError as error:
            self.wrong(line, str(error))
            return None

    def fields(self, section: Section, known: Sequence[str]) -> list[tuple[str, str, int]]:
        """The `key: value` items of a section's lists."""
        found: list[tuple[str, str, int]] = []
        for item in section.items:
            match = _KEY.fullmatch(item.text)
            key = match[1].lower() if match else ""
            if match is None or key not in known:
                self.wrong(item.line, f"'{item.text}' is not one of the fields {', '.join(known)} of '{section.title}'")
                continue
            found.append((key, match[2].strip().strip("`"), item.line))
        return found

    def sql(self, section: Section) -> tuple[Sql, ...]:
        blocks: list[Sql] = []
        for fence in section.fences:
            language, *words = fence.words or ("",)
            if language.lower() != "sql":
                self.wrong(fence.line - 1, "only blocks of SQL are run: begin this one with ```sql")
                continue
            if unknown := set(words) - {"transaction"}:
                self.wrong(fence.line - 1, f"'{' '.join(sorted(unknown))}' is not known behind ```sql")
            blocks.append(Sql(fence.text, fence.line, transaction="transaction" in words))
        return tuple(blocks)
