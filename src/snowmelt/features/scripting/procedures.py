"""CALL, anonymous blocks and EXECUTE IMMEDIATE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.features.scripting import errors as script_errors
from snowmelt.features.scripting import evaluation, python
from snowmelt.features.scripting.failures import script_error
from snowmelt.features.scripting.frames import MAX_CALLS, Binds, Frame, Slot, variables_of
from snowmelt.features.scripting.interpreter import Interpreter, Returned
from snowmelt.runtime import system_functions
from snowmelt.runtime.results import Result, ResultColumn, arrow_type, table_result
from snowmelt.runtime.rights import enforcement
from snowmelt.runtime.transaction_scopes import TransactionScope
from snowmelt.runtime.variables import Locals, Variable
from snowmelt.sql import overloads
from snowmelt.sql.scripting.check import check
from snowmelt.sql.scripting.nodes import Block, ProcedureDeclaration
from snowmelt.sql.scripting.parser import parse_block, parse_body
from snowmelt.sql.statements.base import AnonymousBlock, NameRef
from snowmelt.sql.statements.calls import Call, ExecuteImmediate
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, ObjectKind, RoutineDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

BLOCK_COLUMN = "anonymous block"


@dataclass(frozen=True, slots=True)
class _Procedure:
    """A procedure of the catalog or of the block around the CALL."""

    name: str
    signature: overloads.Signature
    defaults: dict[str, str]
    definition: RoutineDefinition | None = None
    stored: CatalogObject | None = None
    nested: ProcedureDeclaration | None = None


@lru_cache(maxsize=512)
def body_of(text: str) -> Block:
    """A stored body as nodes. It was parsed when the procedure was created, so this does not fail."""
    return parse_body(SqlText(text))


@lru_cache(maxsize=512)
def _checked_body(text: str, arguments: tuple[str, ...]) -> Block:
    """The body, if every name in it is declared. As in Snowflake, the first CALL checks that."""
    block = body_of(text)
    check(block, arguments)
    return block


# -- the three statements ----------------------------------------------------------------------------------------------


def call(run: Run, statement: Call) -> Result:
    session = run.session
    given = [evaluation.evaluate(session, argument.value) for argument in statement.arguments if argument.name is None]
    named = {
        argument.name: evaluation.evaluate(session, argument.value)
        for argument in statement.arguments
        if argument.name is not None
    }
    result = call_with(run, statement.name, given, named, shown=_shown(statement))
    if statement.into is not None:
        _store(session.script, statement.into, result, run)
    return result


def call_with(
    run: Run, name: NameRef, given: Sequence[Variable], named: dict[str, Variable], *, shown: str = ""
) -> Result:
    """Runs the procedure that these arguments mean."""
    if len(name.parts) == 1:
        system = system_functions.called(run, name.parts[0], [value.value for value in given])
        if system is not None:
            return system
    candidates = _candidates(run, name)
    signatures = [candidate.signature for candidate in candidates]
    by_name = {key: value.type for key, value in named.items()}
    chosen = overloads.choose(
        candidates[0].name, shown or candidates[0].name, signatures, [value.type for value in given], by_name
    )
    procedure = candidates[chosen]
    if procedure.stored is not None:
        enforcement.require_object(run, "USAGE", procedure.stored)
    arguments: dict[str, Variable] = {}
    for index, (argument, type_) in enumerate(procedure.signature.arguments):
        if index < len(given):
            value = given[index]
        elif argument in named:
            value = named[argument]
        else:
            with variables_of(run.session, None):
                value = evaluation.evaluate(run.session, SqlText(procedure.defaults[argument]))
        arguments[argument] = evaluation.convert(run.session, value, type_)
    return _run_nested(run, procedure, arguments) if procedure.nested else _run_stored(run, procedure, arguments)


def check_block(statement: AnonymousBlock) -> Block:
    """The block as nodes. Raises what is wrong with it before anything runs."""
    block = parse_block(statement.text)
    check(block)
    return block


def anonymous_block(run: Run, statement: AnonymousBlock) -> Result:
    block = check_block(statement)
    frame = _frame(run, owners_rights=False)
    with _entered(run, frame):
        returned = Interpreter(run, frame).block(block)
    return returned.table if returned.table is not None else _scalar(BLOCK_COLUMN, returned.value, None)


def execute_immediate(run: Run, statement: ExecuteImmediate) -> Result:
    session = run.session
    if statement.text is not None:
        text = statement.text.text
    else:
        assert statement.expression is not None
        found = evaluation.evaluate(session, statement.expression)
        if found.value is None or found.type.kind is not Kind.VARCHAR:
            raise script_error("EXECUTE IMMEDIATE expects the text of a statement.")
        text = str(found.value)
    values = [evaluation.evaluate(session, item) for item in statement.using]
    # The text sees the values of USING, and no variable of the block around it.
    binds = Binds(values, session.script, sees_around=False)
    with variables_of(session, binds):
        return session.execute(SqlText(evaluation.with_names(text, len(values))))


# -- finding -----------------------------------------------------------------------------------------------------------


def _candidates(run: Run, name: NameRef) -> list[_Procedure]:
    parts = run.parts(name)
    script = run.session.script
    if len(parts) == 1 and isinstance(script, Frame):
        entry = script.scope.find(parts[0])
        if isinstance(entry, ProcedureDeclaration):
            return [_of_block(entry)]
    full = run.object_name(parts, "CALL")
    with run.state.read() as state:
        found = state.catalog.routines(full, ObjectKind.PROCEDURE, run.session.id)
    stored = [_of_catalog(item, item.definition) for item in found if isinstance(item.definition, RoutineDefinition)]
    if not stored:
        raise script_errors.unknown_procedure(str(full) if len(parts) > 1 else parts[0], qualified=len(parts) > 1)
    return stored


def _of_catalog(item: CatalogObject, definition: RoutineDefinition) -> _Procedure:
    defaults = {item.name: item.default for item in definition.arguments if item.default is not None}
    signature = overloads.Signature(tuple((item.name, item.type) for item in definition.arguments), frozenset(defaults))
    return _Procedure(item.name.name, signature, defaults, definition=definition, stored=item)


def _of_block(declared: ProcedureDeclaration) -> _Procedure:
    defaults = {item.name: item.default.text for item in declared.arguments if item.default is not None}
    signature = overloads.Signature(tuple((item.name, item.type) for item in declared.arguments), frozenset(defaults))
    return _Procedure(declared.name, signature, defaults, nested=declared)


def _shown(statement: Call) -> str:
    """The call as written, for messages."""
    return f"{str(statement.name).upper()}({', '.join(argument.value.text for argument in statement.arguments[:4])})"


# -- running -----------------------------------------------------------------------------------------------------------


def _run_stored(run: Run, procedure: _Procedure, arguments: dict[str, Variable]) -> Result:
    definition = procedure.definition
    assert definition is not None and procedure.stored is not None
    frame = _frame(run, owners_rights=not definition.execute_as_caller, calls=1)
    with _entered(run, frame, definition, procedure.stored.owner):
        if definition.strict and any(value.value is None for value in arguments.values()):
            returned = Returned()
        elif definition.language == "PYTHON":
            returned = python.run(run, definition, list(arguments.values()))
        else:
            _declare(frame, arguments)
            block = _checked_body(definition.body, tuple(arguments))
            returned = Interpreter(run, frame, definition.returns).block(block)
    return _result(procedure.name, definition, returned)


def _run_nested(run: Run, procedure: _Procedure, arguments: dict[str, Variable]) -> Result:
    declared = procedure.nested
    assert declared is not None
    frame = _frame(run, owners_rights=False, calls=1)
    _declare(frame, arguments)
    with _entered(run, frame):
        returned = Interpreter(run, frame, declared.returns).block(declared.body)
    return returned.table if returned.table is not None else _scalar(declared.name, returned.value, declared.returns)


def _frame(run: Run, *, owners_rights: bool, calls: int = 0) -> Frame:
    """A frame inside the one that runs now: rights only ever become fewer."""
    around = run.session.script
    depth = calls + (around.depth if around is not None else 0)
    if depth > MAX_CALLS:
        raise errors.SnowmeltError(
            "090235", "54001", f"Stored procedures are called more than {MAX_CALLS} deep inside each other."
        )
    inherited = around is not None and around.owners_rights
    scope = TransactionScope(run.session.transaction, around.transactions if around is not None else None)
    return Frame(owners_rights=owners_rights or inherited, transactions=scope, depth=depth)


def _declare(frame: Frame, arguments: dict[str, Variable]) -> None:
    for name, value in arguments.items():
        frame.scope.names[name] = Slot(value.type, value.value)


@contextmanager
def _entered(
    run: Run, frame: Frame, definition: RoutineDefinition | None = None, owner: str | None = None
) -> Iterator[None]:
    """Runs what is inside as the frame's: its variables, its schema, its transactions, its owner's rights."""
    session = run.session
    home = session.database, session.schema
    rights = session.role, session.secondary_roles, session.acts_as_owner
    own_home = definition is not None and not definition.execute_as_caller
    if definition is not None and own_home:
        session.database, session.schema = definition.database, definition.schema_
        assert owner is not None
        session.role, session.secondary_roles, session.acts_as_owner = owner, (), True
    finished = False
    try:
        with variables_of(session, frame):
            yield
        finished = True
    finally:
        if own_home:
            session.database, session.schema = home
            session.role, session.secondary_roles, session.acts_as_owner = rights
        _end_transactions(run, frame, finished=finished)


def _end_transactions(run: Run, frame: Frame, *, finished: bool) -> None:
    """A transaction that was begun inside must have ended inside."""
    session, scope = run.session, frame.transactions
    assert scope is not None
    left_open = session.transaction
    if scope.began and left_open is not None and left_open is not scope.outer:
        session.transaction = scope.outer
        run.account.transactions.rollback(left_open)
        if finished:
            raise script_errors.incomplete_transaction()
    scope.resume(session)


# -- results -----------------------------------------------------------------------------------------------------------


def _result(name: str, definition: RoutineDefinition, returned: Returned) -> Result:
    if definition.returns_table is None:
        if returned.table is not None:
            raise script_error(f"Procedure {name} returns {definition.returns}, not a table.")
        return _scalar(name, returned.value, definition.returns)
    if returned.table is None:
        raise script_error(f"Procedure {name} returns a table: its RETURN must be RETURN TABLE(…).")
    declared = definition.returns_table
    if not declared:
        return returned.table
    table = returned.table
    if len(declared) != len(table.columns):
        raise script_error(f"Procedure {name} declares {len(declared)} column(s), its table has {len(table.columns)}.")
    columns = tuple(ResultColumn(column.name, column.type) for column in declared)
    if any(a.type.kind is not b.type.kind for a, b in zip(columns, table.columns, strict=True)):
        wanted, got = (", ".join(str(item.type) for item in side) for side in (columns, table.columns))
        raise script_error(f"Procedure {name} declares a table of ({wanted}), but returned ({got}).")
    arrays = [table.data.column(index).cast(arrow_type(column.type)) for index, column in enumerate(columns)]
    data = type(table.data).from_arrays(arrays, names=[str(index) for index in range(len(columns))])
    return replace(table, columns=columns, data=data)


def _scalar(name: str, value: Variable | None, declared: DataType | None) -> Result:
    found = value or Variable(None, declared or types.VARCHAR)
    type_ = types.VARCHAR if found.type.kind is Kind.NULL else found.type
    return table_result([ResultColumn(name, type_)], [[_held(found.value, type_)]], statement_type="CALL")


def _held(value: Any, type_: DataType) -> Any:
    """A value in the form in which results hold it."""
    if value is None or type_.kind is not Kind.TIMESTAMP_TZ:
        return value
    offset = value.utcoffset()
    return {TZ_INSTANT: value, TZ_OFFSET: 0 if offset is None else int(offset.total_seconds() // 60)}


def _store(script: Locals | None, name: str, result: Result, run: Run) -> None:
    """CALL … INTO :name."""
    if not isinstance(script, Frame):
        raise errors.compilation("002049", "42601", f"Bind variable :{name} not set.")
    slot = script.slot(name)
    found = result.rows()[0][0] if result.data.num_rows else None
    slot.value = evaluation.convert(run.session, Variable(found, result.columns[0].type), slot.type).value
