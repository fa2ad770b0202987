"""Phrases as text that people read: `within {duration}`, `(must|may) not be readable`, `no? personal data`.

A pattern is a row of words. `a|b` is one word of several, `?` behind it makes it optional, `{kind}` is a part with a
value, `*` stands for up to five words of the same clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from snowmelt.design.conversation.captures import CAPTURES
from snowmelt.design.conversation.tokens import CLAUSE_ENDS, AnswerToken

_GAP = 5
_CAPTURE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class _Element:
    words: frozenset[str] = frozenset()
    capture: str | None = None
    gap: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Matched:
    start: int
    """Of tokens."""
    end: int
    values: dict[str, Any] = field(default_factory=dict)


@cache
def _elements(pattern: str) -> tuple[_Element, ...]:
    found = []
    for written in pattern.split():
        if written == "*":
            found.append(_Element(gap=True))
            continue
        optional = written.endswith("?")
        part = written.removesuffix("?")
        assert part.count("(") == part.count(")"), f"'{pattern}': a word of several can't have spaces"
        if capture := _CAPTURE.fullmatch(part):
            assert capture.group(1) in CAPTURES, f"'{pattern}' asks for {part}, which is no part with a value"
            found.append(_Element(capture=capture.group(1), optional=optional))
        else:
            found.append(_Element(words=frozenset(part.strip("()").split("|")), optional=optional))
    return tuple(found)


def matches(pattern: str, tokens: Sequence[AnswerToken]) -> Iterator[Matched]:
    """Everywhere in the tokens, from left to right."""
    elements = _elements(pattern)
    for start in range(len(tokens)):
        found = _match(elements, 0, tokens, start)
        if found is not None:
            yield Matched(start, found[0], found[1])


def _match(
    elements: tuple[_Element, ...], index: int, tokens: Sequence[AnswerToken], at: int
) -> tuple[int, dict[str, Any]] | None:  # fmt: skip
    if index == len(elements):
        return at, {}
    element = elements[index]
    if element.gap:
        return _match_gap(elements, index, tokens, at)
    taken = _take(element, tokens, at)
    if taken is not None:
        rest = _match(elements, index + 1, tokens, taken[0])
        if rest is not None:
            return rest[0], {**taken[1], **rest[1]}
    return _match(elements, index + 1, tokens, at) if element.optional else None


def _match_gap(
    elements: tuple[_Element, ...], index: int, tokens: Sequence[AnswerToken], at: int
) -> tuple[int, dict[str, Any]] | None:  # fmt: skip
    for skipped in range(_GAP + 1):
        if skipped and (at + skipped > len(tokens) or tokens[at + skipped - 1].text in CLAUSE_ENDS):
            return None
        rest = _match(elements, index + 1, tokens, at + skipped)
        if rest is not None:
            return rest
    return None


def _take(element: _Element, tokens: Sequence[AnswerToken], at: int) -> tuple[int, dict[str, Any]] | None:
    if at >= len(tokens):
        return None
    if element.capture is None:
        return (at + 1, {}) if tokens[at].word in element.words else None
    found = CAPTURES[element.capture](tokens, at)
    return None if found is None else (found[0], {element.capture: found[1]})
