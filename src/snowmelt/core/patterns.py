"""Patterns that users write, matched in time that the lengths of pattern and text bound.

Python's regular expressions try one way after the other. Some patterns take them for ever, and all other threads wait
meanwhile. Those of users are matched by RE2, which has neither look-arounds nor references to groups.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.text import storable

with lazy_imports():
    import pyarrow as pa
    from pyarrow.compute import match_substring_regex


@dataclass(frozen=True, slots=True)
class UserPattern:
    """A regular expression of a user. Raises ValueError for what is none."""

    text: str
    ignore_case: bool = False

    def __post_init__(self) -> None:
        self._matched([""], self.text)

    def match_whole(self, texts: Sequence[str]) -> list[bool]:
        """Of each text whether the whole of it matches. A dot is any character."""
        return self._matched(texts, rf"(?s)\A(?:{self.text})\z")

    def is_in(self, text: str) -> bool:
        """Whether a part of the text matches."""
        return self._matched([text], self.text)[0]

    def _matched(self, texts: Sequence[str], expression: str) -> list[bool]:
        values = pa.array([storable(text) for text in texts], pa.string())
        try:
            found = match_substring_regex(values, expression, ignore_case=self.ignore_case)
        except (pa.ArrowInvalid, UnicodeEncodeError) as error:
            raise ValueError(str(error).removeprefix("Invalid regular expression: ")) from None
        answers: list[bool] = found.to_pylist()
        return answers


def like(pattern: str, *, escapes: bool) -> re.Pattern[str]:
    r"""SQL's wildcards as a regular expression for `fullmatch`, blind to case.

    With `escapes`, a backslash takes a wildcard literally.
    """
    # The pieces between `%` come one after the other, each as early as it can: there is no second try.
    pieces, escaped = [""], False
    for character in pattern:
        if escaped or character not in "%_\\" or (character == "\\" and not escapes):
            pieces[-1] += re.escape(character)
            escaped = False
        elif character == "%":
            pieces.append("")
        elif character == "_":
            pieces[-1] += "."
        else:
            escaped = True
    if escaped:
        pieces[-1] += re.escape("\\")
    first, *others = pieces
    middle = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
    return re.compile(f"{first}{middle}{'.*' + others[-1] if others else ''}", re.IGNORECASE | re.DOTALL)
