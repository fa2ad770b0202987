"""What the composition of the program gives to the layers below it."""

from __future__ import annotations

from importlib import import_module
from typing import Generic, TypeVar

_COMPOSITION = "snowmelt.accounts"
"""The one module that knows all features. It is above everything that asks for them, so only its name is known here."""
Value = TypeVar("Value")


class Composed(Generic[Value]):
    """A value that the composition sets, once for the whole process.

    The first caller composes the program, so that no entry point can forget to: the server, the command line, a
    test, and a library call in somebody's own process see the same features.
    """

    def __init__(self) -> None:
        self._value: Value | None = None

    def set(self, value: Value) -> None:
        self._value = value

    def get(self) -> Value:
        if self._value is None:
            import_module(_COMPOSITION).install_kinds()
        assert self._value is not None, "the composition sets all values"
        return self._value
