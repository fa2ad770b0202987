"""JSON as results write it: an element of an array may be `undefined`, which no JSON parser takes."""

from __future__ import annotations

import re

from snowmelt.core.types import UNDEFINED

_TEXT_OR_UNDEFINED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|undefined', re.DOTALL)


def with_nulls(text: str) -> str:
    """Valid JSON, for readers that do not know `undefined`."""
    return _replaced(text, "null")


def with_marks(text: str) -> str:
    """Valid JSON in which `types.UNDEFINED` stands for `undefined`."""
    return _replaced(text, f'"{UNDEFINED}"')


def _replaced(text: str, by: str) -> str:
    if "undefined" not in text:
        return text
    return _TEXT_OR_UNDEFINED.sub(lambda found: by if found[0] == "undefined" else found[0], text)
