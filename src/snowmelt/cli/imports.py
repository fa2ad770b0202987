"""Importing much at once."""

from __future__ import annotations

import atexit
import dataclasses
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_CREATE = "_create_fn"
_LATER = frozenset({"__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"})
"""Methods of a dataclass that its decorator compiles. Of 500 classes a small command uses few."""


def import_quickly(name: str) -> Any:
    """The module. What is imported stays: looking for garbage among it again and again takes a sixth of the time.

    The garbage collector skips it until the process ends: extensions such as DuckDB's report then what was not freed.
    """
    gc.disable()
    try:
        with _methods_compiled_later():
            return import_module(name)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)


class _WithoutPandas:
    """Hides pandas from imports, as if it were not installed."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def keep_pandas_out() -> None:
    """Arrow imports pandas with its first array, where pandas is installed, only to ask whether it was given a frame.

    It does that once. It imports pandas all the same when somebody asks for a frame.
    """
    if "pandas" in sys.modules:
        return
    hiding: Any = _WithoutPandas()
    sys.meta_path.insert(0, hiding)
    try:
        import_module("pyarrow").array([])
    finally:
        sys.meta_path.remove(hiding)


@contextmanager
def _methods_compiled_later() -> Iterator[None]:
    """Dataclasses that are defined meanwhile compile their methods when they are called first.

    Compiling them takes a seventh of a small command's time. Pythons that compile them another way, as 3.13 does, are
    left alone.
    """
    compile_now = vars(dataclasses).get(_CREATE)
    if compile_now is None:
        yield
        return
    setattr(dataclasses, _CREATE, _compiling_later(compile_now))
    try:
        yield
    finally:
        setattr(dataclasses, _CREATE, compile_now)


def _compiling_later(compile_now: Callable[..., Any]) -> Callable[..., Any]:
    def create(name: str, *described: Any, **named: Any) -> Any:
        if name not in _LATER:
            return compile_now(name, *described, **named)
        compiled: list[Callable[..., Any]] = []

        def method(self: Any, *given: Any) -> Any:
            if not compiled:
                compiled.append(compile_now(name, *described, **named))
                _replace(type(self), name, method, compiled[0])
            return compiled[0](self, *given)

        method.__name__ = name
        return method

    return create


def _replace(class_: type, name: str, method: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    """The class calls what was compiled from now on."""
    for owner in class_.__mro__:
        if owner.__dict__.get(name) is method:
            compiled.__qualname__ = method.__qualname__
            setattr(owner, name, compiled)
