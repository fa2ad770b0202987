"""The process that runs Python which users wrote: a program of its own, with nothing but Python's own modules.

It is asked line by line, by the server's quick lane and by Spark's workers alike. A request has code (`spec`), unless
it is known by its name, and `rows`: lists of texts. The answer has a text or null for each, or what went wrong. A call
that takes too long ends the process; memory is limited from the start.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections import OrderedDict
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from snowmelt.engine.code.values import WrongError, decoded, encoded, plain

FILE = "_udf_code.py"
"""How Snowflake calls the body in tracebacks. Only lines of this file are ever shown."""
_KNOWN_CODES = 100


class UserFunction:
    """The body of one function, executed once."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.zone = spec["zone"]
        self.arguments: list[dict[str, Any]] = spec["arguments"]
        self.returns: list[dict[str, Any]] = spec["returns"]
        namespace: dict[str, Any] = {"__name__": "_udf_code"}
        with _limited(spec["seconds"]):
            exec(compile(spec["body"], FILE, "exec"), namespace)
        found = namespace.get(spec["handler"])
        if not callable(found):
            raise WrongError(f"The handler '{spec['handler']}' is not defined in the body.")
        self.handler = found

    def answers(self, rows: list[list[str | None]]) -> list[str | None]:
        shape = self.spec["shape"]
        if shape == "scalar":
            if hasattr(self.handler, "_sf_vectorized_input"):
                return self._by_batches(rows)
            return [self._scalar(row) for row in rows]
        return [self._aggregate(row) if shape == "aggregate" else self._table(row) for row in rows]

    def _given(self, row: list[str | None]) -> list[Any]:
        return [decoded(type_, text, self.zone) for type_, text in zip(self.arguments, row, strict=True)]

    def _scalar(self, row: list[str | None]) -> str | None:
        if self.spec["strict"] and None in row:
            return None
        given = self._given(row)
        with _limited(self.spec["seconds"]):
            value = self.handler(*given)
        return encoded(self.returns[0], value, self.zone)

    def _by_batches(self, rows: list[list[str | None]]) -> list[str | None]:
        chosen = [index for index, row in enumerate(rows) if not (self.spec["strict"] and None in row)]
        found: list[str | None] = [None] * len(rows)
        size = int(getattr(self.handler, "_sf_max_batch_size", None) or len(rows) or 1)
        for start in range(0, len(chosen), size):
            part = chosen[start : start + size]
            frame = self._frame([rows[index] for index in part], range(len(self.arguments)))
            with _limited(self.spec["seconds"]):
                result = self.handler(frame)
            values = _listed(result)
            if len(values) != len(part):
                raise WrongError(f"The handler returned {len(values)} values for {len(part)} rows.")
            for index, value in zip(part, values, strict=True):
                found[index] = encoded(self.returns[0], _no_nan(value), self.zone)
        return found

    def _frame(self, rows: list[list[str | None]], names: Any) -> Any:
        pandas = import_module("pandas")
        columns = {}
        for index, (name, type_) in enumerate(zip(names, self.arguments, strict=True)):
            values = [decoded(type_, row[index], self.zone) for row in rows]
            columns[name] = pandas.Series(values, dtype=_dtype(type_, values), index=range(len(rows)))
        return pandas.DataFrame(columns, index=range(len(rows)))

    def _rows(self, row: list[str | None]) -> list[list[str | None]]:
        """The rows of a group or a partition: those of one call, or gathered ones."""
        mode, *given = row
        if mode == "row":
            return [given]
        return [json.loads(text) for text in json.loads(given[0] or "[]")]

    def _aggregate(self, row: list[str | None]) -> str | None:
        with _limited(self.spec["seconds"]):
            state = self.handler()
            for given in self._rows(row):
                if not (self.spec["strict"] and None in given):
                    state.accumulate(*self._given(given))
            value = state.finish()
        return encoded(self.returns[0], value, self.zone)

    def _table(self, row: list[str | None]) -> str:
        """JSON: for each row that comes out its values as texts, behind the number of the row it came of, or null."""
        rows = self._rows(row)
        found: list[list[Any]] = []
        with _limited(self.spec["seconds"]):
            made = self.handler()
            process, end = getattr(made, "process", None), getattr(made, "end_partition", None)
            if end is not None and hasattr(end, "_sf_vectorized_input"):
                names = [argument["name"] for argument in self.arguments]
                found += [[None, *values] for values in self._of_frame(end(self._frame(rows, names)))]
                return json.dumps(found, ensure_ascii=False)
            for number, given in enumerate(rows):
                if process is not None and not (self.spec["strict"] and None in given):
                    found += [[number, *self._row(one)] for one in process(*self._given(given)) or ()]
            if end is not None:
                found += [[None, *self._row(one)] for one in end() or ()]
        return json.dumps(found, ensure_ascii=False)

    def _row(self, values: Any) -> list[str | None]:
        if not isinstance(values, tuple | list):
            raise WrongError(f"The handler gave a {type(values).__name__} where a tuple of columns is expected.")
        if len(values) != len(self.returns):
            raise WrongError(f"The handler gave {len(values)} column(s), the function declares {len(self.returns)}.")
        return [encoded(type_, value, self.zone) for type_, value in zip(self.returns, values, strict=True)]

    def _of_frame(self, frame: Any) -> list[list[str | None]]:
        if frame is None:
            return []
        if not hasattr(frame, "itertuples"):
            raise WrongError(f"end_partition gave a {type(frame).__name__} where a DataFrame is expected.")
        return [self._row([_no_nan(value) for value in values]) for values in frame.itertuples(index=False, name=None)]


def _listed(result: Any) -> list[Any]:
    if hasattr(result, "tolist"):
        return list(result.tolist())
    if isinstance(result, list | tuple):
        return list(result)
    if hasattr(result, "iloc") and getattr(result, "ndim", 1) == 2:
        return list(result.iloc[:, 0].tolist())
    raise WrongError(f"The handler returned a {type(result).__name__} where a Series or a list is expected.")


def _no_nan(value: Any) -> Any:
    """Pandas has NaN for what is missing."""
    value = plain(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _dtype(type_: dict[str, Any], values: list[Any]) -> str:
    kind, missing = type_["kind"], None in values
    if kind == "FLOAT":
        return "float64"
    if kind == "BOOLEAN":
        return "boolean" if missing else "bool"
    if kind == "NUMBER" and not type_["scale"] and all(abs(value or 0) < 2**63 for value in values):
        return "Int64" if missing else "int64"
    return "object"


class _limited:  # noqa: N801 - a context manager
    """Ends the process when what is inside takes longer: by a signal, since nothing else stops compiled code."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


# -- answering --------------------------------------------------------------------------------------------------------


def error_text(error: BaseException) -> str:
    """What the code raised, with the line of it."""
    if isinstance(error, WrongError):
        shown = str(error)
    elif isinstance(error, MemoryError):
        shown = "MemoryError: the function needs more memory than python_memory_bytes allows"
    else:
        shown = traceback.format_exception_only(error)[-1].strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    if not frames:
        return shown
    last = frames[-1]
    return f'Traceback (most recent call last):\n  File "{FILE}", line {last.lineno}, in {last.name}\n{shown}'


def snowflake_module() -> ModuleType:
    """`_snowflake`, as far as functions import it: `vectorized`."""
    module = ModuleType("_snowflake")

    def vectorized(input: Any = None, max_batch_size: int | None = None) -> Any:
        def mark(function: Any) -> Any:
            function._sf_vectorized_input = input
            function._sf_max_batch_size = max_batch_size
            return function

        return mark

    module.vectorized = vectorized  # type: ignore[attr-defined]
    return module


def limit_memory(limit: int) -> None:
    # A system that can't limit this says so.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def end_with(parent: int) -> None:
    """Nobody asks any more when who started this process is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def answer(request: dict[str, Any], known: OrderedDict[str, UserFunction]) -> dict[str, Any]:
    name = request["name"]
    try:
        code = known.get(name)
        if code is None:
            if "spec" not in request:
                return {"unknown": True}
            code = known[name] = UserFunction(request["spec"])
            while len(known) > _KNOWN_CODES:
                known.popitem(last=False)
        known.move_to_end(name)
        return {"values": code.answers(request["rows"])}
    except BaseException as error:
        return {"error": error_text(error)}


def main() -> None:
    """Answers until nobody asks any more."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.modules["_snowflake"] = snowflake_module()
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    limit_memory(int(sys.argv[1]))
    known: OrderedDict[str, UserFunction] = OrderedDict()
    for line in asked:
        answers.write(json.dumps(answer(json.loads(line), known)).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
