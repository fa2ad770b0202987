"""Conditions of branches: an input or a captured value against constants. No expression language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SET = re.compile(r"(\w+)\s+is\s+(not\s+)?set", re.IGNORECASE)
_IN = re.compile(r"(\w+)\s+in\s+(.+)", re.IGNORECASE | re.DOTALL)
_COMPARED = re.compile(r"(\w+)\s*(!=|=)\s*(.+)", re.DOTALL)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    name: str
    wanted: tuple[str, ...]
    """Empty: any value will do."""
    negated: bool = False

    def holds(self, value: str | None) -> bool:
        if not self.wanted:
            return (value is not None) is not self.negated
        among = value is not None and value.casefold() in {item.casefold() for item in self.wanted}
        return among is not self.negated


@dataclass(frozen=True, slots=True)
class Condition:
    """Several tests, all of which must hold."""

    text: str
    tests: tuple[Comparison, ...]

    def holds(self, values: Mapping[str, str]) -> bool:
        return all(test.holds(values.get(test.name)) for test in self.tests)


def parse_condition(text: str) -> Condition:
    """Raises ValueError for what is none."""
    return Condition(text, tuple(_test(piece.strip()) for piece in _AND.split(text.strip())))


def _test(text: str) -> Comparison:
    if match := _SET.fullmatch(text):
        return Comparison(match[1], (), negated=match[2] is not None)
    if match := _IN.fullmatch(text):
        return Comparison(match[1], tuple(item.strip() for item in match[2].strip("() ").split(",")))
    if match := _COMPARED.fullmatch(text):
        return Comparison(match[1], (match[3].strip(),), negated=match[2] == "!=")
    raise ValueError(
        f"'{text}' is not a condition: write input = value, input != value, input in a, b, input is set or input is "
        "not set, joined by and"
    )
