"""Reading files with UDFs where no Spark runs.

PySpark makes a UDF as soon as its decorator is met, and needs a running Spark for that. Whoever wants to know which
definitions a file has must not start one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import functions

_DECORATORS = ("udf", "pandas_udf", "arrow_udf", "udtf", "arrow_udtf")


@contextmanager
def left_undone() -> Iterator[None]:
    """Inside, PySpark's decorators leave functions as they are: in the whole process, so only for a moment."""
    kept = {name: getattr(functions, name) for name in _DECORATORS if hasattr(functions, name)}
    for name in kept:
        setattr(functions, name, _undecorated)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(functions, name, function)


def _undecorated(first: Any = None, *_: Any, **__: Any) -> Any:
    if callable(first):
        return first
    return _same


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function
