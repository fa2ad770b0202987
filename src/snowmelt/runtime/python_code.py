"""Python that users wrote: it runs with the rights of the server's user, so only where the settings trust it."""

from __future__ import annotations

import traceback
from typing import Any

from snowmelt.core import errors
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.user_code import Shape, UserCode, user_code
from snowmelt.state.model import RoutineDefinition

FILE = "_udf_code.py"
"""How Snowflake calls the body in tracebacks. Only lines of this file are ever shown."""


def require_trust(settings: Settings) -> None:
    """Raises unless the settings allow Python."""
    if not settings.trust_python:
        raise errors.unsupported(
            "LANGUAGE PYTHON",
            hint="Python runs with the rights of the server's user. Set trust_python = true in snowmelt.toml (or "
            "SNOWMELT_TRUST_PYTHON=true) if you trust everybody who may create functions, procedures and dynamic "
            "tables.",
        )


def user_code_of(definition: RoutineDefinition, zone: str, settings: Settings) -> UserCode:
    """A stored function in Python, as the engine is asked to run it."""
    table = definition.returns_table
    shape: Shape = "aggregate" if definition.aggregate else "scalar" if table is None else "table"
    returns = [definition.returns] if definition.returns is not None else [column.type for column in table or ()]
    return user_code(
        body=definition.body,
        handler=definition.handler or "",
        shape=shape,
        arguments=[(argument.name, argument.type) for argument in definition.arguments],
        returns=returns,
        immutable=definition.immutable,
        strict=definition.strict,
        zone=zone,
        seconds=settings.python_seconds,
    )


def compiled(body: str) -> Any:
    """Raises 100357 for a syntax error."""
    try:
        return compile(body, FILE, "exec")
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f" line {line}:" if line else ""
        raise failed(f"{type(error).__name__}:{where} {getattr(error, 'msg', None) or error}") from None


def failed(detail: str) -> SnowmeltError:
    return SnowmeltError("100357", "P0000", f"Python Interpreter Error:\n{detail}")


def raised(error: BaseException) -> SnowmeltError:
    """What the code raised, with the line of it."""
    if isinstance(error, SnowmeltError):
        shown = f"SnowmeltError: {error}"
    else:
        shown = traceback.format_exception_only(error)[-1].strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    if not frames:
        return failed(shown)
    last = frames[-1]
    return failed(f'Traceback (most recent call last):\n  File "{FILE}", line {last.lineno}, in {last.name}\n{shown}')
