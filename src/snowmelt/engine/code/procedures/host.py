"""The process that runs one call of a procedure: a program of its own, with nothing but Python's own modules.

Its first line is the call. It answers with questions for the server, and at last with a value, a table or an error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from types import ModuleType
from typing import Any

from snowmelt.engine.code.host import FILE, end_with, limit_memory, snowflake_module
from snowmelt.engine.code.procedures.asking import Asking, SQLError
from snowmelt.engine.code.procedures.small_session import Row, SmallFrame, SmallSession
from snowmelt.engine.code.procedures.snowpark import is_installed, session_of_snowpark, table_of_snowpark
from snowmelt.engine.code.values import decoded, encoded, plain

_SNOWPARK = "snowflake.snowpark"


class ProcedureError(Exception):
    """What the user is told as it is."""


def answer(call: dict[str, Any], asking: Asking) -> dict[str, Any]:
    """The last message."""
    try:
        namespace: dict[str, Any] = {"__name__": "_udf_code"}
        session: Any
        if is_installed():
            session = session_of_snowpark(asking, call["names"])
        else:
            _answer_imports()
            session = SmallSession(asking, call["names"])
        exec(compile(call["body"], FILE, "exec"), namespace)
        found = namespace.get(call["handler"])
        if not callable(found):
            raise ProcedureError(f"The handler '{call['handler']}' is not a function of the body.")
        zone = str(call["names"]["zone"])
        given = [decoded(type_, text, zone) for type_, text in call["arguments"]]
        return _returned(found(session, *given), zone, table=bool(call["table"]))
    except BaseException as error:
        return {"error": error_text(error)}


def _answer_imports() -> None:
    """`import snowflake.snowpark` works for its names where the package is not installed."""
    module = ModuleType(_SNOWPARK)
    module.Session = SmallSession  # type: ignore[attr-defined]
    module.DataFrame = SmallFrame  # type: ignore[attr-defined]
    module.Row = Row  # type: ignore[attr-defined]
    package = sys.modules.setdefault("snowflake", ModuleType("snowflake"))
    package.snowpark = module  # type: ignore[attr-defined]
    sys.modules[_SNOWPARK] = module


def _returned(value: Any, zone: str, *, table: bool) -> dict[str, Any]:
    if isinstance(value, SmallFrame):
        return {"table": value.returned()}
    if type(value).__module__.startswith(_SNOWPARK) and hasattr(value, "_plan"):
        return {"table": table_of_snowpark(value)}
    if table:
        raise ProcedureError(f"The procedure returns a table, but its handler returned {type(value).__name__}.")
    if hasattr(value, "as_dict"):
        value = value.as_dict()
    value = plain(value)
    if value is None:
        return {"value": None}
    kind = _kind(value)
    return {"value": {"type": kind, "text": encoded(kind, value, zone)}}


def _kind(value: Any) -> dict[str, Any]:
    """The type of a Python value, from which the declared one is made."""
    for class_, kind in _KINDS:
        if isinstance(value, class_):
            return {"kind": kind, "precision": 38, "scale": 0}
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return {
            "kind": "NUMBER",
            "precision": 38,
            "scale": min(max(-exponent, 0), 37) if isinstance(exponent, int) else 0,
        }
    if isinstance(value, datetime):
        return {"kind": "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP_TZ"}
    if isinstance(value, date):
        return {"kind": "DATE"}
    if isinstance(value, Mapping):
        return {"kind": "OBJECT"}
    if isinstance(value, list | tuple):
        return {"kind": "ARRAY"}
    raise ProcedureError(f"A value of type {type(value).__name__} cannot be returned.")


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "BOOLEAN"),
    (int, "NUMBER"),
    (float, "FLOAT"),
    (str, "VARCHAR"),
    (bytes, "BINARY"),
    (time, "TIME"),
)


def error_text(error: BaseException) -> str:
    """What the code raised, with the line of it."""
    if isinstance(error, ProcedureError):
        return str(error)
    if isinstance(error, MemoryError):
        shown = "MemoryError: the procedure needs more memory than python_memory_bytes allows"
    elif isinstance(error, SQLError):
        shown = f"SQLError: {error.code} ({error.sqlstate}): {error.message}"
    else:
        shown = traceback.format_exception_only(error)[-1].strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    if not frames:
        return shown
    last = frames[-1]
    return f'Traceback (most recent call last):\n  File "{FILE}", line {last.lineno}, in {last.name}\n{shown}'


def main() -> None:
    """Runs one call."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.modules["_snowflake"] = snowflake_module()
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    limit_memory(int(sys.argv[1]))
    call = json.loads(asked.readline())
    answers.write(json.dumps(answer(call, Asking(answers, asked))).encode() + b"\n")
    answers.flush()
    # Threads of the code may go on for ever.
    os._exit(0)


if __name__ == "__main__":
    main()
