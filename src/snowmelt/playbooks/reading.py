"""A playbook's file, read. Everything that is wrong with it is found in one go, with its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import yaml
from pydantic import ValidationError

from snowmelt.core.yaml_text import compose_yaml, load_yaml
from snowmelt.playbooks.conditions import parse_condition
from snowmelt.playbooks.markdown import Section, parse_sections, split_front_matter
from snowmelt.playbooks.model import Expectation, FrontMatter, Playbook, PlaybookStep, Probe, ProbeCapture, Problem, Sql
from snowmelt.playbooks.reader import Reader, slug
from snowmelt.playbooks.step_parts import (
    read_checkpoint,
    read_compensation,
    read_creates,
    read_errors,
)

_EXPECTED_COLUMN = re.compile(r"(\w+)\s*(!=|=|\s+in\s)\s*(.+)", re.IGNORECASE)
_CAPTURE = re.compile(r"(\w+)\s+from\s+(\w+)", re.IGNORECASE)
_WAIT = re.compile(r"(\d+(?:\.\d+)?)\s+seconds?")


def read_playbook(text: str) -> tuple[Playbook | None, list[Problem]]:
    """The playbook and the problems of its structure; None when there are any."""
    reader = Reader()
    parts = split_front_matter(text)
    if parts is None:
        return None, [Problem(1, "the file must begin with front matter between two lines of ---")]
    front = _front_matter(reader, parts[0])
    root = parse_sections(parts[1], parts[2])
    top = root.sections[0] if len(root.sections) == 1 and root.sections[0].level == 1 else root
    groups = {section.title.lower(): section for section in top.sections if section.level == 2}
    if "steps" not in groups:
        reader.wrong(1, "there is no section '## Steps'")
    probes = [_probe(reader, section) for section in _entries(groups.get("probes"))]
    steps = [_step(reader, section) for section in _entries(groups.get("steps"))]
    _unique(reader, [(probe.id, probe.line) for probe in probes])
    _unique(reader, [(step.id, step.line) for step in steps])
    if front is None or reader.problems:
        return None, sorted(reader.problems)
    return Playbook(front, top.title or front.playbook, text, tuple(probes), tuple(steps)), []


def _front_matter(reader: Reader, text: str) -> FrontMatter | None:
    try:
        values = load_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        reader.wrong(2 + (mark.line if mark else 0), f"the front matter is not valid YAML: {error.problem}")
        return None
    try:
        return FrontMatter.model_validate(values if isinstance(values, dict) else {})
    except ValidationError as error:
        for item in error.errors():
            path = ".".join(str(part) for part in item["loc"])
            reader.wrong(_line_of(text, item["loc"]), f"'{path}' in the front matter: {item['msg'].lower()}")
        return None


def _line_of(text: str, path: tuple[int | str, ...]) -> int:
    """Where a key of the front matter stands, or as much of its path as there is."""
    node = compose_yaml(text)
    line = 0
    for part in path:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = next(((key, value) for key, value in pairs if key.value == part), None)
        if found is None:
            break
        line, node = found[0].start_mark.line, found[1]
    return line + 2


def _entries(group: Section | None) -> list[Section]:
    return [section for section in group.sections if section.level == 3] if group is not None else []


def _unique(reader: Reader, found: Sequence[tuple[str, int]]) -> None:
    seen: set[str] = set()
    for name, line in found:
        if name in seen:
            reader.wrong(line, f"there are two with the name '{name}'")
        seen.add(name)


def _probe(reader: Reader, section: Section) -> Probe:
    expectations: list[Expectation] = []
    captures: list[ProbeCapture] = []
    values: dict[str, str] = {}
    when = None
    for key, value, line in reader.fields(section, ("expect", "capture", "otherwise", "severity", "when")):
        if key == "expect":
            expectations += [found] if (found := reader.attempt(line, partial(_expectation, value, line))) else []
        elif key == "capture":
            match = _CAPTURE.fullmatch(value)
            if match is None:
                reader.wrong(line, f"'{value}' is not understood: write name from column")
            else:
                captures.append(ProbeCapture(match[1], match[2]))
        elif key == "when":
            when = reader.attempt(line, partial(parse_condition, value))
        else:
            values[key] = value
            if key == "severity" and value not in ("stop", "warn"):
                reader.wrong(line, "the severity of a probe is stop or warn")
    if not section.fences:
        reader.wrong(section.line, f"the probe '{section.title}' has no SQL")
    return Probe(
        slug(section.title), section.title, section.line, section.text(), reader.sql(section), tuple(expectations),
        tuple(captures), values.get("otherwise", ""), values.get("severity") == "warn", when,
    )  # fmt: skip


def _expectation(text: str, line: int) -> Expectation:
    if text.lower() in ("rows", "no rows"):
        return Expectation(text, line, rows=text.lower() == "rows")
    match = _EXPECTED_COLUMN.fullmatch(text)
    if match is None:
        raise ValueError(
            f"'{text}' is not an expectation: write rows, no rows, column = value, column != value or column in a, b"
        )
    among = match[2].strip().lower() == "in"
    wanted = tuple(item.strip() for item in match[3].split(",")) if among else (match[3].strip(),)
    return Expectation(text, line, column=match[1], wanted=wanted, negated=match[2] == "!=")


_PARTS = ("checkpoint", "compensation", "creates", "expected errors", "done when")


def _step(reader: Reader, section: Section) -> PlaybookStep:
    parts: dict[str, Section] = {}
    fixes: dict[str, tuple[Sql, ...]] = {}
    for part in section.sections:
        title = part.title.lower()
        if title.startswith("fix:"):
            fixes[slug(title.removeprefix("fix:"))] = reader.sql(part)
        elif title not in _PARTS:
            reader.wrong(part.line, f"'{part.title}' is not a part of a step: {', '.join(_PARTS)}, fix: name")
        elif title in parts:
            reader.wrong(part.line, f"'{part.title}' is there twice")
        else:
            parts[title] = part
    values: dict[str, str] = {}
    expectations: list[Expectation] = []
    when = None
    attempts, wait = 5, 1.0
    for key, value, line in reader.fields(section, ("when", "expect", "otherwise", "attempts", "wait")):
        if key == "when":
            when = reader.attempt(line, partial(parse_condition, value))
        elif key == "expect":
            expectations += [found] if (found := reader.attempt(line, partial(_expectation, value, line))) else []
        elif key == "attempts":
            attempts = reader.attempt(line, partial(_attempts, value)) or attempts
        elif key == "wait":
            wait = reader.attempt(line, partial(_wait, value)) or wait
        else:
            values[key] = value
    done = reader.sql(parts["done when"]) if "done when" in parts else ()
    if "done when" in parts and len(done) != 1:
        reader.wrong(parts["done when"].line, "'Done when' takes one block of SQL")
    return PlaybookStep(
        slug(section.title), section.title, section.line, section.text(), reader.sql(section), when,
        read_creates(reader, parts.get("creates")), read_checkpoint(reader, parts.get("checkpoint")),
        read_compensation(reader, parts.get("compensation")),
        read_errors(reader, parts.get("expected errors"), set(fixes)),
        fixes, done[0] if done else None, tuple(expectations), values.get("otherwise", ""), attempts, wait,
    )  # fmt: skip


def _attempts(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise ValueError(f"'{text}' is not a number of attempts")
    return int(text)


def _wait(text: str) -> float:
    match = _WAIT.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not a time to wait, as '2 seconds'")
    return float(match[1])
