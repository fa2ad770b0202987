"""How much a statement may ask of the binder.

A text of forty lines can stand for a million expressions: aliases of aliases that name each twice, views of views.
Nothing else ends such a statement before memory does, since it is no query yet that a time limit could stop.
"""

from __future__ import annotations

from collections.abc import Callable

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError

MOST = 250_000
"""Columns, calls and operators of a statement, with all that it names written out."""
_BETWEEN_LOOKS = 1_000


class BindingWork:
    """Counts what is bound for one statement."""

    __slots__ = ("_check", "_done")

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        """`check` raises when the statement is to end."""
        self._check = check
        self._done = 0

    def add(self) -> None:
        """Raises for a statement that is too large, and for one that was cancelled."""
        self._done += 1
        if self._done % _BETWEEN_LOOKS == 0:
            self._check()
            if self._done > MOST:
                raise too_large()


def too_large() -> SnowmeltError:
    return errors.compilation(
        "000913", "54001",
        "The statement is too large once its views, functions and aliases are written out.",
        hint="Make a table of a part of it; give an expression that is used again a column in a subquery.",
    )  # fmt: skip
