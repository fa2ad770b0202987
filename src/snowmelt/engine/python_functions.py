"""Functions of Python's that Spark knows by name: those of core/portable, and one with a key of the account.

The key is in no text, plan, page or log of Spark's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.portable_functions import PORTABLE, PREFIX, PortableFunction
from snowmelt.core.pseudonyms import FUNCTION, tokeniser

with lazy_imports():
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql.functions import udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PythonFunctions:
    """Registered in a session of Spark's when a query first needs them there: Python's workers take a second."""

    def __init__(self, token_key: str) -> None:
        self._token_key = token_key
        self._lock = threading.Lock()
        self._prepared: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()

    def sql(self, session: SparkSession, text: str) -> DataFrame:
        """The query's frame."""
        if PREFIX in text:
            for name in (FUNCTION, *PORTABLE):
                if name in text:
                    self._prepare(session, name)
        return session.sql(text)

    def _prepare(self, session: SparkSession, name: str) -> None:
        with self._lock:
            known = self._prepared.setdefault(session, set())
            if name not in known:
                session.udf.register(name, udf(self._made(name), "string", useArrow=False))
                known.add(name)

    def _made(self, name: str) -> Callable[..., str | None]:
        return tokeniser(self._token_key) if name == FUNCTION else _portable(PORTABLE[name])


def _portable(function: PortableFunction) -> Callable[..., str | None]:
    """Spark's workers are sent the module itself: they may have no packages."""
    register_pickle_by_value(function.module)  # type: ignore[no-untyped-call]
    compute = function.compute

    def of_values(*values: str | None) -> str | None:
        return None if None in values else compute(*values)

    return of_values
