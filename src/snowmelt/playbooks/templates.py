"""Placeholders in SQL: `{{ input }}`, `{{ input.part }}`, `{{ input | text }}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from snowmelt.core.errors import SnowmeltError
from snowmelt.playbooks.inputs import FORMS, PARTS, InputSpec, InputType, InputValue
from snowmelt.sql.tokens import TokenKind, tokenize

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)(?:\.(\w+))?(?:\s*\|\s*(\w+))?\s*\}\}")
_OPENING = re.compile(r"\{\{")


@dataclass(frozen=True, slots=True)
class Placeholder:
    name: str
    part: str | None
    form: str | None
    offset: int


def placeholders(text: str) -> list[Placeholder]:
    return [Placeholder(found[1], found[2], found[3], found.start()) for found in _PLACEHOLDER.finditer(text)]


def names_in(text: str) -> set[str]:
    return {item.name for item in placeholders(text)}


def filled(text: str, values: Mapping[str, InputValue]) -> str:
    """SQL with its inputs in place. What lint has passed can't fail but for an optional input that has no value."""

    def replace(match: re.Match[str]) -> str:
        name, part, form = match.groups()
        if name not in values:
            raise ValueError(f"'{name}' has no value")
        return values[name].rendered(part, form)

    return _PLACEHOLDER.sub(replace, text)


def plainly_filled(text: str, values: Mapping[str, InputValue]) -> str:
    """Prose, or a default that is parsed by its type afterwards."""

    def replace(match: re.Match[str]) -> str:
        name, part, _ = match.groups()
        if name not in values:
            return match[0]
        return values[name].parts.get(part, "") if part is not None else values[name].plain

    return _PLACEHOLDER.sub(replace, text)


def wrong(sql: str, inputs: Mapping[str, InputSpec], facts: set[str]) -> Iterator[tuple[int, str]]:
    """What is wrong with the placeholders of a piece of SQL, with offsets."""
    found = placeholders(sql)
    known = {item.offset for item in found}
    for match in _OPENING.finditer(sql):
        if match.start() not in known:
            yield match.start(), "'{{' begins no placeholder; write {{ input }}, {{ input.part }} or {{ input | text }}"
    for item in found:
        yield from ((item.offset, text) for text in _wrong(item, inputs, facts))
    yield from ((offset, text) for offset, text in _misplaced(sql, found))


def _wrong(item: Placeholder, inputs: Mapping[str, InputSpec], facts: set[str]) -> Iterator[str]:
    spec = inputs.get(item.name)
    if spec is None and item.name not in facts:
        yield f"there is no input and no captured value '{item.name}'"
    if item.part is not None and (item.part not in PARTS or spec is None or spec.type is not InputType.NAME):
        yield f"'{item.name}' has no part '{item.part}': names have database, schema and name"
    if item.form is not None and item.form not in FORMS:
        yield f"'{item.form}' is not a form: there are text and like"


def _misplaced(sql: str, found: list[Placeholder]) -> Iterator[tuple[int, str]]:
    """A placeholder must be a token of its own, or else its value would not be what its type says."""
    marks = [f"snowmelt_input_{index}_" for index in range(len(found))]
    remaining = iter(marks)
    try:
        tokens = tokenize(_PLACEHOLDER.sub(lambda _: next(remaining), sql)).tokens
    except SnowmeltError:
        # The parser says what is not closed, and where.
        return
    words = {token.text for token in tokens if token.kind is TokenKind.WORD}
    for mark, item in zip(marks, found, strict=True):
        if mark not in words:
            yield (
                item.offset,
                (
                    f"the placeholder of '{item.name}' is inside a text, a quoted name or a comment, or touches other "
                    "characters: it must stand alone, and is quoted by its type"
                ),
            )
