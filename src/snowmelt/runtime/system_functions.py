"""GET_DDL and SYSTEM$ functions: answered from the catalog while the statement is bound, so without Spark."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import structlog
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.core.types import DataType
from snowmelt.runtime.kinds import Run
from snowmelt.runtime.metadata.columns import EPOCH
from snowmelt.runtime.results import Result, ResultColumn, table_result
from snowmelt.runtime.rights.enforcement import require_object
from snowmelt.runtime.statement import AuditedAccount, CheckedStatement
from snowmelt.runtime.variables import Variable, literal
from snowmelt.sql.functions import documented
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

_log = structlog.get_logger(__name__)
Arguments = Sequence[Any]
_PREFIX = "SYSTEM$"
_NEAR = 0.7
"""How alike two names have to be to be taken for a misspelling."""


@dataclass(frozen=True, slots=True)
class SystemFunction:
    least: int
    most: int
    returns: DataType
    value: Callable[[Run, StateReader, Arguments], Any]
    only_called: bool = False
    """The function does something that must happen once. It can only be called: a query may be bound several times."""


class SystemFunctions(Protocol):
    @property
    def system_functions(self) -> Mapping[str, SystemFunction]: ...


class CalledAccount(AuditedAccount, Protocol):
    """An account whose features add functions."""

    @property
    def features(self) -> SystemFunctions: ...


class CallingStatement(CheckedStatement, Protocol):
    """A statement that calls functions of the account."""

    @property
    def account(self) -> CalledAccount: ...
    def evaluate(self, text: exp.Expr) -> Variable: ...


def call(run: CallingStatement, state: StateReader, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """The function's value as a Snowflake literal; None when the name is not of such a function."""
    function = _function(run, name, len(arguments))
    if function is None:
        return None
    if function.only_called:
        raise errors.unsupported(f"{name} in a query", hint=f"Write CALL {name}(…).")
    values = [_constant(run, name, index, argument) for index, argument in enumerate(arguments, start=1)]
    return literal(_value(run, state, name, function, values), function.returns)


def called(run: CallingStatement, name: str, arguments: Arguments) -> Result | None:
    """What CALL SYSTEM$…(…) answers; None when the name is not of such a function."""
    function = _function(run, name, len(arguments))
    if function is None:
        return None
    with run.state.read() as state:
        value = _value(run, state, name, function, arguments)
    return table_result([ResultColumn(name, function.returns)], [[value]], statement_type="CALL")


def _value(run: CallingStatement, state: StateReader, name: str, function: SystemFunction, arguments: Arguments) -> Any:
    try:
        return function.value(run, state, arguments)
    except (TypeError, ValueError, OverflowError) as error:
        # A text for a number, or for JSON. The log tells it from a defect of ours.
        _log.warning("function_refused_arguments", function=name, error=type(error).__name__)
        given = ", ".join(type(value).__name__ for value in arguments)
        raise errors.invalid_argument_types(name, given) from error


def _function(run: CallingStatement, name: str, given: int) -> SystemFunction | None:
    known: Mapping[str, SystemFunction] = run.account.features.system_functions
    function = known.get(name)
    if function is None:
        if name.startswith(_PREFIX):
            word = name.removeprefix(_PREFIX)
            if word in documented.beside()[_PREFIX]:
                raise errors.unsupported(f"the function {name}")
            # All of them begin alike: what follows has to be near.
            words = {other.removeprefix(_PREFIX): other for other in known}
            nearest = difflib.get_close_matches(word, words, n=1, cutoff=_NEAR)
            raise errors.unknown_function(name, words[nearest[0]] if nearest else None)
        return None
    if given < function.least:
        raise errors.not_enough_arguments(name, function.least, given)
    if given > function.most:
        raise errors.too_many_arguments(name, function.most, given)
    return function


def _constant(run: CallingStatement, name: str, index: int, argument: exp.Expr) -> Any:
    column = argument.find(exp.Column)
    if column is not None:
        found = column.sql().upper()
        raise errors.compilation(
            "001015", "22023", f"argument {index} to function {name} needs to be constant, found '{found}'"
        )
    return run.evaluate(argument).value


def text(value: Any, parameter: str) -> str:
    if not isinstance(value, str):
        raise errors.invalid_value("NULL" if value is None else str(value), parameter)
    return value


def table_argument(
    run: CheckedStatement, state: StateReader, written: str, function: str, privilege: str | None
) -> tuple[CatalogObject, TableDefinition]:
    """The table that an argument names. `privilege`: what the caller needs on it, beyond seeing it."""
    parts = split_name(written)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(written, "table_name")
    full = run.object_name(parts, function)
    found = state.catalog.find(full, [ObjectKind.TABLE, ObjectKind.VIEW], run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    if not isinstance(found.definition, TableDefinition):
        raise errors.unsupported(f"{function} of a view", hint="Ask for the tables in its query.")
    if privilege is not None:
        require_object(run, privilege, found)
    return found, found.definition


def nanoseconds(instant: datetime) -> int:
    passed = instant - EPOCH
    return ((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1_000
