"""Users' functions in Python, called by DuckDB: it asks the processes that run them, never this one.

What fails is no error of the lane: Spark computes the query again, and has the error.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.user_code import PREFIX, QUICK_STEADY, QUICK_VOLATILE, STEADY, KnownCode
from snowmelt.engine.quick.types import STRING, NotQuick, SparkType, of_node
from snowmelt.engine.quick.values import Value, literal

with lazy_imports():
    import duckdb
    from duckdb import func

    from snowmelt.engine.code import client
    from snowmelt.engine.code.program import program


class ReadsValues(Protocol):
    """The expressions of a SELECT."""

    def value(self, node: exp.Expr) -> Value: ...


class CodeCalls:
    """What DuckDB calls back. Safe to use from many threads."""

    def __init__(self, known: KnownCode, memory: int, seconds: float) -> None:
        """`seconds`: what takes longer is for Spark."""
        self._known = known
        self._hosts = client.CodeHosts(program(), memory)
        self._seconds = seconds

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        def call(name: Any, arguments: Any) -> Any:
            return self._answers(name, arguments)

        texts: list[Any] = [duckdb.type("VARCHAR"), duckdb.type("VARCHAR[]")]
        for function, volatile in ((QUICK_STEADY, False), (QUICK_VOLATILE, True)):
            connection.create_function(
                function, call, texts, duckdb.type("VARCHAR"), type=func.ARROW, null_handling=func.SPECIAL,
                side_effects=volatile,
            )  # fmt: skip

    def _answers(self, name: Any, arguments: Any) -> Any:
        if not len(arguments):
            return pa.array([], pa.string())
        code = self._known[name[0].as_py()]
        until = time.monotonic() + self._seconds
        return pa.array(self._hosts.call(code.name, code.spec, arguments.to_pylist(), until), pa.string())

    def close(self) -> None:
        self._hosts.close()


def is_code(node: exp.Expr) -> bool:
    """Whether it is a call of a user's function: its text stands for a value of the type that it is cast to."""
    return isinstance(node, exp.Anonymous) and node.name.startswith(PREFIX)


def called(expressions: ReadsValues, node: exp.Anonymous) -> Value:
    """The call, with the arguments as texts that the process reads."""
    array = node.expressions[0]
    if isinstance(array, exp.Cast):
        array = array.this
    texts = [_text(expressions, item) for item in getattr(array, "expressions", ())]
    function = QUICK_STEADY if node.name.startswith(f"{PREFIX}{STEADY}") else QUICK_VOLATILE
    return Value(f"{function}({literal(node.name)}, CAST([{', '.join(texts)}] AS VARCHAR[]))", STRING)


def _text(expressions: ReadsValues, node: exp.Expr) -> str:
    """Python reads the texts that DuckDB makes of numbers and moments as it reads Spark's."""
    if isinstance(node, exp.Cast | exp.TryCast) and of_node(node.args["to"]) == STRING:
        value = expressions.value(node.this)
        if value.type.name in ("variant", "struct", "array", "map", "timestamp_tz", "binary"):
            raise NotQuick(f"a text of {value.type.name}")
        return f"CAST({value.sql} AS VARCHAR)"
    value = expressions.value(node)
    if value.type != STRING and value.sql != "NULL":
        raise NotQuick(f"an argument of type {value.type.name}")
    return value.sql


def cast(value: Value, target: SparkType) -> Value:
    """Of the text of a call."""
    if target.name in ("variant", "struct", "array", "map", "timestamp_tz", "binary"):
        raise NotQuick(f"a value of type {target.name}")
    return Value(f"CAST({value.sql} AS {target.duck})", target)
