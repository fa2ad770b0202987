"""The parts of a step that have headings of their own."""

from __future__ import annotations

import re
from functools import partial
from typing import TypeVar

from snowmelt.core.kinds import OWN_TYPES
from snowmelt.core.patterns import UserPattern
from snowmelt.playbooks.markdown import Section
from snowmelt.playbooks.model import (
    Checkpoint,
    CheckpointDecision,
    CheckpointSeverity,
    Compensation,
    Created,
    ExpectedError,
    ProbeTime,
    Recovery,
)
from snowmelt.playbooks.reader import Reader, slug
from snowmelt.sql.statements.kinds import grammar

_Word = TypeVar("_Word", CheckpointSeverity, ProbeTime)

_HEADER = ("pattern", "recovery", "retryable", "what to do")
_ASSIGNMENT = re.compile(r"(\w+)\s*=\s*(.+)")


def _kinds() -> list[str]:
    """What a step can create and undoing can drop; longer names first, so that the first that fits is right."""
    named = grammar()
    mine = (kind for kind in named.types if kind in OWN_TYPES or named.name_parts[kind] == 3)
    return sorted((kind.value for kind in mine if kind not in named.with_arguments), key=lambda kind: -len(kind))


def read_checkpoint(reader: Reader, section: Section | None) -> Checkpoint | None:
    if section is None:
        return None
    found: dict[str, tuple[str, int]] = {}
    for key, value, line in reader.fields(section, ("severity", "at", "present", "options", "different-approach")):
        found[key] = (value, line)
    severity = _choice(reader, section, found, "severity", CheckpointSeverity, None)
    at = _choice(reader, section, found, "at", ProbeTime, ProbeTime.AFTER)
    names, line = found.get("options", ("approve, abort", section.line))
    options: list[CheckpointDecision] = []
    for name in (item.strip() for item in names.split(",")):
        try:
            options.append(CheckpointDecision(name))
        except ValueError:
            reader.wrong(line, f"'{name}' is not an option: {', '.join(CheckpointDecision)}")
    alternative = _alternative(reader, *found["different-approach"]) if "different-approach" in found else {}
    if (CheckpointDecision.DIFFERENT_APPROACH in options) != bool(alternative):
        reader.wrong(
            line, "the option different-approach needs the field of that name, with what it sets, and the reverse"
        )
    return Checkpoint(
        section.line, severity or CheckpointSeverity.CRITICAL, at or ProbeTime.AFTER,
        found.get("present", (section.text(), 0))[0],
        reader.sql(section), tuple(options), alternative,
    )  # fmt: skip


def _choice(
    reader: Reader, section: Section, found: dict[str, tuple[str, int]], key: str, words: type[_Word],
    default: _Word | None,
) -> _Word | None:  # fmt: skip
    if key not in found:
        if default is None:
            reader.wrong(section.line, f"a checkpoint needs its {key}: {' or '.join(words)}")
        return default
    value, line = found[key]
    try:
        return words(value)
    except ValueError:
        reader.wrong(line, f"'{value}' is not {' or '.join(words)}")
        return default


def _alternative(reader: Reader, text: str, line: int) -> dict[str, str]:
    settings: dict[str, str] = {}
    for piece in text.split(","):
        match = _ASSIGNMENT.fullmatch(piece.strip())
        if match is None:
            reader.wrong(line, f"'{piece.strip()}' does not set an input: write input = value")
        else:
            settings[match[1]] = match[2].strip()
    return settings


def read_compensation(reader: Reader, section: Section | None) -> Compensation | None:
    if section is None:
        return None
    if not section.fences and not section.prose:
        reader.wrong(section.line, "a compensation has SQL, or says in words why there is none")
    return Compensation(section.line, reader.sql(section), section.text())


def read_creates(reader: Reader, section: Section | None) -> tuple[Created, ...]:
    created: list[Created] = []
    for item in section.items if section is not None else ():
        text = item.text.strip("`")
        kind = next((kind for kind in _kinds() if text.upper().startswith(f"{kind} ")), None)
        if kind is None:
            reader.wrong(item.line, f"'{text}' does not begin with a kind of object: {', '.join(_kinds())}")
            continue
        created.append(Created(kind, text[len(kind) :].strip().strip("`"), item.line))
    return tuple(created)


def read_errors(reader: Reader, section: Section | None, fixes: set[str]) -> tuple[ExpectedError, ...]:
    if section is None:
        return ()
    if len(section.tables) != 1 or tuple(cell.lower() for cell in section.tables[0].header) != _HEADER:
        reader.wrong(section.line, f"expected errors are one table with the columns {', '.join(_HEADER)}")
        return ()
    found: list[ExpectedError] = []
    for line, cells in section.tables[0].rows:
        error = reader.attempt(line, partial(_expected_error, cells, line, fixes))
        found += [error] if error is not None else []
    return tuple(found)


def _expected_error(cells: tuple[str, ...], line: int, fixes: set[str]) -> ExpectedError:
    pattern, written, retryable, advice = cells
    word, _, name = (part.strip() for part in written.partition(":"))
    try:
        recovery = Recovery(word.lower())
    except ValueError:
        raise ValueError(
            f"'{word}' is not a recovery: {', '.join(Recovery)} (a | inside a pattern is written \\|)"
        ) from None
    if retryable.lower() not in ("yes", "no"):
        raise ValueError("retryable is yes or no")
    fix = slug(name) or None
    if recovery is Recovery.FIX and fix not in fixes:
        raise ValueError(f"there is no '#### Fix: {name or 'name'}' in this step")
    try:
        matched = UserPattern(pattern.strip("`"), ignore_case=True)
    except ValueError as error:
        raise ValueError(f"the pattern is not a regular expression: {error}") from None
    return ExpectedError(matched, recovery, retryable.lower() == "yes", advice, fix, line)
