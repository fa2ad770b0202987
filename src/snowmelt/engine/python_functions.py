"""Functions of Python's that Spark knows by name: those of core/portable, one with a key of the account, and users'.

The key is in no text, plan, page or log of Spark's, nor is the code of users.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.portable_functions import PORTABLE, PREFIX, PortableFunction
from snowmelt.core.pseudonyms import FUNCTION, tokeniser
from snowmelt.core.user_code import PREFIX as CODE
from snowmelt.core.user_code import KnownCode, UserCode
from snowmelt.engine.code import client
from snowmelt.engine.code.program import program

with lazy_imports():
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql.functions import udf
    from pyspark.sql.pandas.functions import arrow_udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CODE = re.compile(rf"\b{CODE}[a-z][0-9a-f]{{32}}\b")


class PythonFunctions:
    """Registered in a session of Spark's when a query first needs them there: Python's workers take a second."""

    def __init__(self, token_key: str, known: KnownCode, code_memory: int) -> None:
        """`code_memory` is what a process may have that runs users' code."""
        self._token_key = token_key
        self._known = known
        self._code_memory = code_memory
        self._lock = threading.Lock()
        self._prepared: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()

    def sql(self, session: SparkSession, text: str) -> DataFrame:
        """The query's frame."""
        if PREFIX in text:
            for name in (FUNCTION, *PORTABLE):
                if name in text:
                    self._prepare(session, name)
            if CODE in text:
                for name in set(_CODE.findall(text)):
                    self._prepare(session, name)
        return session.sql(text)

    def _prepare(self, session: SparkSession, name: str) -> None:
        with self._lock:
            known = self._prepared.setdefault(session, set())
            if name not in known:
                session.udf.register(name, self._made(name))
                known.add(name)

    def _made(self, name: str) -> Any:
        if name.startswith(CODE):
            return self._of_code(self._known[name])
        if name in PORTABLE and PORTABLE[name].of_columns:
            made: Any = arrow_udf(_portable_column(PORTABLE[name]), "string")  # type: ignore[call-overload]
            return made
        function = tokeniser(self._token_key) if name == FUNCTION else _portable(PORTABLE[name])
        return udf(function, "string", useArrow=False)

    def _of_code(self, code: UserCode) -> Any:
        made: Any = arrow_udf(_asked(code, program(), self._code_memory), "string")  # type: ignore[call-overload]
        return made if code.is_steady else made.asNondeterministic()


def _asked(code: UserCode, text: str, memory: int) -> Callable[[pa.Array], pa.Array]:
    """Spark's workers ask a process of their own: with the same limits, and without the server's environment."""
    register_pickle_by_value(client)  # type: ignore[no-untyped-call]
    answers, name, spec = client.in_a_worker, code.name, code.spec

    def ask(arguments: pa.Array) -> pa.Array:
        return pa.array(answers(text, memory, name, spec, arguments.to_pylist()), pa.string())

    return ask


def _portable(function: PortableFunction) -> Callable[..., str | None]:
    """Spark's workers are sent the module itself: they may have no packages."""
    register_pickle_by_value(function.module)  # type: ignore[no-untyped-call]
    compute = function.compute

    def of_values(*values: str | None) -> str | None:
        return None if None in values else compute(*values)

    return of_values


def _portable_column(function: PortableFunction) -> Callable[[pa.Array, pa.Array], pa.Array]:
    """A whole column at once; what stands beside it is one constant."""
    register_pickle_by_value(function.module)  # type: ignore[no-untyped-call]
    compute = function.compute_column

    def of_column(texts: pa.Array, constants: pa.Array) -> pa.Array:
        return pa.array(compute(texts.to_pylist(), constants[0].as_py()) if len(texts) else [], pa.string())

    return of_column
