"""Text from outside: what can't be stored, and what can't be a name."""

from __future__ import annotations

import re

from snowmelt.core.errors import SnowmeltError, compilation

_LONE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_FOLDERS = frozenset({".", ".."})
_SHOWN = 40


def storable(text: str) -> str:
    """The text with half characters replaced. No database, file or network takes a lone surrogate."""
    return text if text.isascii() else _LONE.sub(_REPLACEMENT, text)


def check_text(text: str) -> None:
    """Raises 100144 for a text that is not Unicode: half of a character would be lost on the way, without a word."""
    if text.isascii():
        return
    found = _LONE.search(text)
    if found is not None:
        around = storable(text[max(0, found.start() - _SHOWN) : found.start() + _SHOWN])
        raise SnowmeltError(
            "100144", "22000", f"Invalid UTF8 detected in string '{around}'",
            hint=f"Position {found.start()} has half of a character, U+{ord(found[0]):04X}.",
        )  # fmt: skip


def is_name(text: str) -> bool:
    """Whether something may be called so: names become paths, labels and lines of logs."""
    return bool(text) and text not in _FOLDERS and _CONTROL.search(text) is None


def check_name(name: str) -> None:
    """Raises 000904 for a name that nothing may have."""
    if not is_name(name):
        raise compilation(
            "000904", "42000", f"invalid identifier '{shown(name)}'",
            hint="A name is not empty, not '.' or '..', and has no control characters.",
        )  # fmt: skip


def shown(text: str) -> str:
    """The text on one line, for messages about what is wrong with it."""
    return _CONTROL.sub("?", text)
