"""Functions with a key of the account. Spark knows them by name: their key is in no text, plan, page or log of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.pseudonyms import FUNCTION, tokeniser

with lazy_imports():
    from pyspark.sql.functions import udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class KeyedFunctions:
    """Registered in a session of Spark's when a query first needs them there: Python's workers take a second."""

    def __init__(self, token_key: str) -> None:
        self._token_key = token_key
        self._lock = threading.Lock()
        self._prepared: WeakSet[SparkSession] = WeakSet()

    def sql(self, session: SparkSession, text: str) -> DataFrame:
        """The query's frame."""
        if FUNCTION in text:
            self._prepare(session)
        return session.sql(text)

    def _prepare(self, session: SparkSession) -> None:
        with self._lock:
            if session not in self._prepared:
                made = udf(tokeniser(self._token_key), "string", useArrow=False)
                session.udf.register(FUNCTION, made)
                self._prepared.add(session)
