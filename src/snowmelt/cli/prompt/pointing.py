"""Where an error is in what somebody typed."""

from __future__ import annotations

import re

_POSITION = re.compile(r"\berror line (\d+) at position (\d+)")
_ELSEWHERE = "Uncaught exception"
"""Begins what a block or a procedure says: its lines are those of its body."""
_MOST = 100


def pointed(text: str, message: str) -> str | None:
    """The line that the message names, and a caret below the place; None when it names none that is in the text."""
    match = _POSITION.search(message)
    lines = text.splitlines()
    if match is None or _ELSEWHERE in message or not 1 <= int(match[1]) <= len(lines):
        return None
    line, position = lines[int(match[1]) - 1], int(match[2])
    if position >= len(line):
        return None
    # Of a long line as much as shows the place.
    first = max(0, position - _MOST // 2)
    shown = line[first : first + _MOST].replace("\t", " ")
    return f"{shown}\n{' ' * (position - first)}^"
