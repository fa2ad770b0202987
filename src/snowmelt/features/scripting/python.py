"""Procedures in Python: each call is a process of its own, which asks this session for its statements."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.result_json import with_nulls
from snowmelt.core.types import DataType, Kind
from snowmelt.core.user_code import described_type
from snowmelt.engine.code.values import decoded, encoded
from snowmelt.features.scripting import evaluation
from snowmelt.features.scripting.answering import StatementAnswers
from snowmelt.features.scripting.interpreter import Returned
from snowmelt.runtime.python_code import compiled, failed, require_trust
from snowmelt.runtime.variables import Variable
from snowmelt.sql import code_calls
from snowmelt.state.model import RoutineDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

with lazy_imports():
    from snowmelt.engine.code import client
    from snowmelt.engine.code.procedures import conversation
    from snowmelt.engine.code.program import procedure_program


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
    settings = run.account.settings
    require_trust(settings)
    zone = str(run.session.parameter("TIMEZONE"))
    session = run.session
    call = {
        "body": definition.body,
        "handler": definition.handler,
        "arguments": [_given(argument, zone) for argument in arguments],
        "table": definition.returns_table is not None,
        "names": {
            "zone": zone, "session": session.id, "user": session.user, "role": session.role,
            "database": session.database, "schema": session.schema, "warehouse": session.warehouse,
        },
    }  # fmt: skip
    answers = StatementAnswers(run)
    process = conversation.ProcedureProcess(
        settings.procedure_python or sys.executable, procedure_program(), settings.python_memory_bytes,
        settings.procedure_seconds,
    )  # fmt: skip
    try:
        last = process.run(call, answers.answer, answers.check)
    except client.CodeError as error:
        raise failed(str(error)) from None
    if "error" in last:
        raise failed(str(last["error"]))
    if "table" in last:
        return Returned(table=answers.kept(str(last["table"])))
    assert definition.returns is not None
    return Returned(evaluation.convert(session, _returned(last.get("value"), zone), definition.returns))


# -- values ------------------------------------------------------------------------------------------------------------


def _given(argument: Variable, zone: str) -> tuple[dict[str, Any], str | None]:
    """An argument as a text with its type; VARIANT, OBJECT and ARRAY are JSON already."""
    type_ = described_type(argument.type)
    if argument.value is None or argument.type.kind is Kind.NULL:
        return {**type_, "kind": "VARCHAR"}, None
    if argument.type.is_semi_structured:
        return type_, with_nulls(argument.value)
    return type_, encoded(type_, argument.value, zone)


def _returned(value: dict[str, Any] | None, zone: str) -> Variable:
    if value is None:
        return Variable(None, types.VARCHAR)
    kind, text = value["type"], value["text"]
    type_ = _TYPES[kind["kind"]] if kind["kind"] != "NUMBER" else types.number(types.MAX_PRECISION, kind["scale"])
    return Variable(text if type_.is_semi_structured else decoded(kind, text, zone), type_)


_TYPES: dict[str, DataType] = {
    "BOOLEAN": types.BOOLEAN, "FLOAT": types.FLOAT, "VARCHAR": types.VARCHAR, "BINARY": types.BINARY,
    "TIME": types.TIME, "DATE": types.DATE, "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ, "TIMESTAMP_TZ": types.TIMESTAMP_TZ,
    "OBJECT": types.OBJECT, "ARRAY": types.ARRAY,
}  # fmt: skip
