"""Imports that are carried out when what they name is first used.

A cold start is mostly imports, and one statement needs few of them. Modules that name everything, such as the
description of a feature, import what they only hand on inside `with lazy_imports():`

    with lazy_imports():
        from snowmelt.features.tags import references
        from snowmelt.features.tags.commands import alter_tag, create_tag

Linters and type checkers read these as the imports they are. `docs/design/cold-start.md` says where this is allowed.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_Import = Callable[..., Any]
_SWITCHING = threading.Lock()
"""One block at a time: each puts the import back that it found."""


class _Lazy:
    """A module or a function that is imported when it is used."""

    __slots__ = ("_found", "_module", "_name")

    def __init__(self, module: str, name: str | None) -> None:
        self._module, self._name = module, name
        self._found: Any = None

    def _resolved(self) -> Any:
        if self._found is None:
            found: Any = import_module(self._module)
            if self._name is not None:
                found = _member(found, self._name)
            # A class would be compared, or be the key of a table, without being used: then this would stand in for it.
            if isinstance(found, type):
                raise TypeError(f"{self!r} is a class. Import its module lazily instead.")
            self._found = found
        return self._found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._resolved(), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._resolved()(*arguments, **named)

    def __repr__(self) -> str:
        return f"<lazy {'.'.join(filter(None, (self._module, self._name)))}>"


class _Origin:
    """What a `from` import takes its names out of."""

    def __init__(self, module: str) -> None:
        self._origin = module

    def __getattr__(self, name: str) -> _Lazy:
        return _Lazy(self._origin, name)


def _member(module: Any, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        return import_module(f"{module.__name__}.{name}")


@contextmanager
def lazy_imports() -> Iterator[None]:
    """Inside of it, imports of the calling module wait. They name modules or functions, with absolute names."""
    caller = sys._getframe(2).f_globals
    with _SWITCHING:
        real = builtins.__import__
        builtins.__import__ = _waiting(real, caller)
        try:
            yield
        finally:
            builtins.__import__ = real


def _waiting(real: _Import, caller: dict[str, Any]) -> _Import:
    def lazily(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        # Other threads import meanwhile, as they always do.
        if globals is not caller:
            return real(name, globals, locals, fromlist, level)
        if level or ("." in name and not fromlist):
            raise ImportError(f"Write `from … import …` with the full name of {name} here.")
        return _Origin(name) if fromlist else _Lazy(name, None)

    return lazily
