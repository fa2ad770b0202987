"""Procedures in Python: the body runs in this process, so only where the settings trust it."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.result_json import with_nulls
from snowmelt.core.types import DataType
from snowmelt.features.scripting import evaluation, failures
from snowmelt.features.scripting.failures import RaisedError
from snowmelt.features.scripting.interpreter import Returned
from snowmelt.runtime.python_code import compiled, failed, raised, require_trust
from snowmelt.runtime.python_session import ProcedureFrame, PythonSession, Row
from snowmelt.runtime.variables import Variable
from snowmelt.sql import code_calls
from snowmelt.state.model import RoutineDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_SNOWPARK = "snowflake.snowpark"


def check(definition: RoutineDefinition) -> None:
    """Raises a syntax error of the body, or for a handler that was not named, or types that Python is not given."""
    if definition.handler is None:
        what = definition.kind.lower()
        raise errors.compilation("391552", "42601", f"A {what} in Python needs HANDLER = '<function>'.")
    compiled(definition.body)
    if definition.kind == "FUNCTION":
        returned = [definition.returns] if definition.returns is not None else []
        columns = [column.type for column in definition.returns_table or ()]
        code_calls.check_types([*(argument.type for argument in definition.arguments), *returned, *columns])


def run(run: Run, definition: RoutineDefinition, arguments: Sequence[Variable]) -> Returned:
    """Calls the handler with a session and the arguments. Raises 100357 for what the code raises."""
    require_trust(run.account.settings)
    code = compiled(definition.body)
    handler = definition.handler or ""
    session = PythonSession(run.session)
    try:
        namespace: dict[str, Any] = {"__name__": "_udf_code", "__builtins__": _builtins()}
        exec(code, namespace)
        found: Callable[..., Any] | None = namespace.get(handler)
        if not callable(found):
            raise failed(f"The handler '{handler}' is not a function of the body.")
        value = found(session, *(_given(argument) for argument in arguments))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _translated(error) from None
    return _returned(run, definition, value)


def _translated(error: BaseException) -> SnowmeltError:
    # A cancelled statement stops the procedure as well.
    if isinstance(error, SnowmeltError) and (
        not isinstance(failures.failed("", error, 0, 0), RaisedError) or error.code == "100357"
    ):
        return error
    return raised(error)


# -- values ------------------------------------------------------------------------------------------------------------


def _given(argument: Variable) -> Any:
    """An argument as Snowpark passes it: VARIANT, OBJECT and ARRAY as Python's own."""
    if argument.value is not None and argument.type.is_semi_structured:
        return json.loads(with_nulls(argument.value))
    return argument.value


def _returned(run: Run, definition: RoutineDefinition, value: Any) -> Returned:
    if isinstance(value, ProcedureFrame):
        return Returned(table=value.result())
    if definition.returns_table is not None:
        raise failed(f"The procedure returns a table, but its handler returned {type(value).__name__}.")
    assert definition.returns is not None
    found = _variable(value, definition.returns)
    return Returned(evaluation.convert(run.session, found, definition.returns))


def _variable(value: Any, wanted: DataType) -> Variable:
    if value is None:
        return Variable(None, wanted)
    for kind, type_ in _TYPES:
        if isinstance(value, kind):
            return Variable(value, type_)
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        scale = min(max(-exponent, 0), 37) if isinstance(exponent, int) else 0
        return Variable(value, types.number(types.MAX_PRECISION, scale))
    if isinstance(value, datetime):
        return Variable(value, types.TIMESTAMP_NTZ if value.tzinfo is None else types.TIMESTAMP_TZ)
    if isinstance(value, date):
        return Variable(value, types.DATE)
    if isinstance(value, Row):
        value = value.as_dict()
    if isinstance(value, Mapping | list | tuple):
        try:
            text = json.dumps(value, default=str)
        except (TypeError, ValueError) as error:
            raise failed(f"The returned value is not JSON: {error}") from None
        return Variable(text, types.OBJECT if isinstance(value, Mapping) else types.ARRAY)
    raise failed(f"A value of type {type(value).__name__} cannot be returned.")


_TYPES: tuple[tuple[type, DataType], ...] = (
    (bool, types.BOOLEAN),
    (int, types.number()),
    (float, types.FLOAT),
    (str, types.VARCHAR),
    (bytes, types.BINARY),
    (time, types.TIME),
)


# -- imports -----------------------------------------------------------------------------------------------------------


def _builtins() -> dict[str, Any]:
    """Python's own, with `snowflake.snowpark` answered here: bodies import it for its type names."""
    return {**vars(builtins), "__import__": _import}


def _import(name: str, *rest: Any, **named: Any) -> ModuleType:
    if name != _SNOWPARK:
        return builtins.__import__(name, *rest, **named)
    snowpark = ModuleType(_SNOWPARK)
    for attribute, value in (("Session", PythonSession), ("DataFrame", ProcedureFrame), ("Row", Row)):
        setattr(snowpark, attribute, value)
    fromlist = rest[2] if len(rest) > 2 else named.get("fromlist")
    if fromlist:
        return snowpark
    package = ModuleType("snowflake")
    package.snowpark = snowpark  # type: ignore[attr-defined]
    return package
