"""Templates of files: <<word>>, and <<if flag>> … <<else>> … <<end>>, in a line or on lines of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

_CONTROL_LINE = re.compile(r"^[ ]*(<<(?:if \w+|else|end)>>)\n", re.MULTILINE)
_MARK = re.compile(r"<<(if \w+|\w+)>>")


def filled(name: str, words: Mapping[str, str], flags: Mapping[str, bool]) -> str:
    """The template `name`. Raises for a word or flag that is not given: nothing may be left open."""
    folder = files("snowmelt.design.building").joinpath("templates")
    text = folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")
    parts = iter(_MARK.split(_CONTROL_LINE.sub(r"\1", text)))
    return "".join(_block(parts, words, flags, shown=True, holds=True))


def _block(
    parts: Iterator[str], words: Mapping[str, str], flags: Mapping[str, bool], *, shown: bool, holds: bool
) -> Iterator[str]:  # fmt: skip
    """One branch or the other, up to the end of the block. Texts and marks come by turns."""
    current = shown and holds
    for text in parts:
        if current:
            yield text
        mark = next(parts, "end")
        if mark == "end":
            return
        if mark == "else":
            current = shown and not holds
        elif mark.startswith("if "):
            yield from _block(parts, words, flags, shown=current, holds=flags[mark.removeprefix("if ")])
        elif current:
            yield words[mark]
