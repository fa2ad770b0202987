"""Conditions as text that people read: `latency_seconds < 60`, `not deletes`, `recipe in cdc, stream`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snowmelt.design.rules.known import MEANINGS, Facts

_COMPARISON = re.compile(r"(\w+)\s*(<=|>=|!=|<|>|=)\s*(\S.*)")
_MEMBER = re.compile(r"(\w+)\s+in\s+(\S.*)")
_STATE = re.compile(r"(\w+)\s+is\s+(known|missing)")
_FLAG = re.compile(r"(not\s+)?(\w+)")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FactCondition:
    text: str
    fact: str
    holds: Callable[[Any], bool]
    """Tests the fact's value; None if nobody said it. An unknown value satisfies no comparison."""

    def of(self, facts: Facts) -> bool:
        return self.holds(facts.value(self.fact))


def condition(text: str) -> FactCondition:
    """Raises ValueError for a text that is no condition, or that names no fact."""
    fact, holds = _read(text.strip())
    if fact not in MEANINGS:
        raise ValueError(f"'{text}' names none of the facts that rules know")
    return FactCondition(text, fact, holds)


def _read(text: str) -> tuple[str, Callable[[Any], bool]]:
    if found := _STATE.fullmatch(text):
        known = found.group(2) == "known"
        return found.group(1), lambda value: (value is not None) is known
    if found := _MEMBER.fullmatch(text):
        words = frozenset(word.strip() for word in found.group(2).split(","))
        return found.group(1), lambda value: value is not None and str(value) in words
    if found := _COMPARISON.fullmatch(text):
        return found.group(1), _comparison(found.group(2), found.group(3))
    if found := _FLAG.fullmatch(text):
        wanted = found.group(1) is None
        return found.group(2), lambda value: bool(value) is wanted
    raise ValueError(f"'{text}' is not a condition")


def _comparison(sign: str, word: str) -> Callable[[Any], bool]:
    if sign == "=":
        return lambda value: value is not None and str(value) == word
    if sign == "!=":
        return lambda value: value is None or str(value) != word
    number = float(word.replace("_", ""))
    compare = _OPERATORS[sign]
    return lambda value: value is not None and compare(float(value), number)
