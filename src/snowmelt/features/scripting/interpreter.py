"""Runs the statements of a block, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import DataType, Kind
from snowmelt.features.scripting import evaluation, failures, rows
from snowmelt.features.scripting.failures import EXPRESSION, STATEMENT, ExceptionType, RaisedError, script_error
from snowmelt.features.scripting.frames import BlockScope, Frame, LoopRow, ResultSet, Slot
from snowmelt.runtime.results import Result
from snowmelt.runtime.variables import Variable
from snowmelt.sql.scripting import nodes
from snowmelt.sql.scripting.check import untyped
from snowmelt.sql.tokens import SqlText

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_COUNTER = types.int64(9)


@dataclass(frozen=True, slots=True)
class Returned:
    """What RETURN gave: a value, or a table."""

    value: Variable | None = None
    table: Result | None = None


@dataclass(frozen=True, slots=True)
class _Leaving:
    """BREAK or CONTINUE on its way to its loop."""

    again: bool
    label: str | None


_Signal = Returned | _Leaving | None


class Interpreter:
    """Runs one block in its frame. `run` is the statement that asked for it: a CALL or the block itself."""

    def __init__(self, run: Run, frame: Frame, returns: DataType | None = None) -> None:
        self.run = run
        self.session = run.session
        self.frame = frame
        self.returns = returns
        """The type that RETURN converts to; None where the value says."""

    def block(self, block: nodes.Block) -> Returned:
        """Runs the outermost block. Raises the error that a client sees."""
        try:
            signal = self._block(block)
        except RaisedError as raised:
            raise raised.uncaught() from raised
        return signal if isinstance(signal, Returned) else Returned()

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _block(self, block: nodes.Block) -> _Signal:
        outer = self.frame.scope
        self.frame.scope = BlockScope(outer)
        try:
            # What fails here is the enclosing block's to handle: these names are not there yet.
            for declaration in block.declarations:
                self._statement(declaration)
            return self._guarded(block)
        finally:
            self.frame.scope = outer

    def _guarded(self, block: nodes.Block) -> _Signal:
        scope = self.frame.scope
        for statement in block.body:
            try:
                signal = self._statement(statement)
            except RaisedError as raised:
                self.frame.scope = scope
                handler = self._handler(block.handlers, raised)
                if handler is None:
                    raise
                signal = self._handle(handler, raised)
                if signal is None and handler.then == "EXIT":
                    return None
            if signal is not None:
                return signal
        return None

    def _handler(self, handlers: tuple[nodes.Handler, ...], raised: RaisedError) -> nodes.Handler | None:
        for handler in handlers:
            for name in handler.names:
                declared = self.frame.scope.find(name)
                if isinstance(declared, ExceptionType):
                    if declared is raised.declared:
                        return handler
                elif name == "OTHER" or (raised.declared is None and name == raised.kind):
                    return handler
        return None

    def _handle(self, handler: nodes.Handler, raised: RaisedError) -> _Signal:
        outer, self.frame.handling = self.frame.handling, raised
        try:
            return self._statements(handler.body)
        finally:
            self.frame.handling = outer

    def _statements(self, statements: nodes.Statements) -> _Signal:
        for statement in statements:
            signal = self._statement(statement)
            if signal is not None:
                return signal
        return None

    def _statement(self, statement: nodes.Statement) -> _Signal:
        self.run.check_cancelled()
        return _STATEMENTS[type(statement)](self, statement)

    # -- expressions --------------------------------------------------------------------------------------------------

    def value(self, text: SqlText, target: DataType | None = None) -> Variable:
        """The value of an expression, as one of the target's type if there is one."""
        with self._expression(text):
            found = evaluation.evaluate(self.session, text)
            return found if target is None else evaluation.convert(self.session, found, target)

    def holds(self, text: SqlText) -> bool:
        with self._expression(text):
            return evaluation.is_true(self.session, evaluation.evaluate(self.session, text))

    @contextmanager
    def _expression(self, text: SqlText) -> Iterator[None]:
        try:
            yield
        except SnowmeltError as error:
            raise failures.failed(EXPRESSION, error, text.line, text.column) from error

    def execute(self, text: SqlText, line: int, position: int) -> Result:
        """Runs a statement of SQL as a child of this one, with a query id of its own."""
        frame = self.frame
        try:
            # The positions in a child's errors count from its own beginning.
            result = self.session.execute(SqlText(text.text))
        except SnowmeltError as error:
            raise failures.failed(STATEMENT, error, line, position) from error
        finally:
            if frame.transactions is not None:
                frame.transactions.resume(self.session)
        frame.executed(result)
        return result

    def fail(self, message: str, node: nodes.ScriptNode) -> RaisedError:
        return RaisedError(STATEMENT, script_error(message), node.line, node.position)

    # -- declarations -------------------------------------------------------------------------------------------------

    def _declare(self, node: nodes.VariableNode) -> None:
        if node.type is not None:
            value = None if node.value is None else self.value(node.value, node.type).value
            self.frame.scope.names[node.name] = Slot(node.type, value)
            return
        assert node.value is not None
        found = self.value(node.value)
        if found.type.kind is Kind.NULL:
            raise untyped(node)
        type_ = _inferred(found.type)
        with self._expression(node.value):
            self.frame.scope.names[node.name] = Slot(type_, evaluation.convert(self.session, found, type_).value)

    def _declare_exception(self, node: nodes.ExceptionDeclaration) -> None:
        self.frame.scope.names[node.name] = ExceptionType(node.name, node.code, node.message)

    def _declare_procedure(self, node: nodes.ProcedureDeclaration) -> None:
        self.frame.scope.names[node.name] = node

    def _assign(self, node: nodes.Assignment) -> None:
        entry = self.frame.scope.find(node.name)
        if isinstance(entry, ResultSet):
            entry.result = rows.of_brackets(self, node.value)
        elif isinstance(entry, Slot):
            entry.value = self.value(node.value, entry.type).value
        else:
            raise self.fail(f"Variable '{node.name}' is not declared.", node)

    # -- branches and loops -------------------------------------------------------------------------------------------

    def _if(self, node: nodes.If) -> _Signal:
        for branch in node.branches:
            if self.holds(branch.condition):
                return self._statements(branch.body)
        return self._statements(node.otherwise)

    def _case(self, node: nodes.Case) -> _Signal:
        subject = None if node.subject is None else self.value(node.subject)
        for branch in node.branches:
            if self._chosen(subject, branch.condition):
                return self._statements(branch.body)
        return self._statements(node.otherwise)

    def _chosen(self, subject: Variable | None, text: SqlText) -> bool:
        if subject is None:
            return self.holds(text)
        with self._expression(text):
            return evaluation.is_equal(self.session, subject, evaluation.evaluate(self.session, text))

    def _for_range(self, node: nodes.ForRange) -> _Signal:
        first, last = self._bound(node.first), self._bound(node.last)
        start, text = (last, node.last) if node.reverse else (first, node.first)
        if start is None:
            return None
        self.value(SqlText(str(start), text.line, text.column), _COUNTER)
        if first is None or last is None:
            return None
        numbers = range(last, first - 1, -1) if node.reverse else range(first, last + 1)
        return self._loop(node, (Slot(_COUNTER, n) for n in numbers), node.name)

    def _bound(self, text: SqlText) -> int | None:
        found: int | None = self.value(text, types.number()).value
        return found

    def _for_rows(self, node: nodes.ForRows) -> _Signal:
        return self._loop(node, rows.each(self, node), node.name)

    def _while(self, node: nodes.While) -> _Signal:
        while self.holds(node.condition):
            leave, signal = self._after(node.label, self._inner(node.body))
            if leave:
                return signal
        return None

    def _repeat(self, node: nodes.Repeat) -> _Signal:
        while True:
            leave, signal = self._after(node.label, self._inner(node.body))
            if leave:
                return signal
            if self.holds(node.until):
                return None

    def _endless(self, node: nodes.Loop) -> _Signal:
        while True:
            leave, signal = self._after(node.label, self._inner(node.body))
            if leave:
                return signal

    def _loop(self, node: nodes.ForRange | nodes.ForRows, values: Generator[Slot | LoopRow], name: str) -> _Signal:
        with closing(values):
            for value in values:
                leave, signal = self._after(node.label, self._inner(node.body, name, value))
                if leave:
                    return signal
        return None

    def _inner(self, body: nodes.Statements, name: str | None = None, value: Slot | LoopRow | None = None) -> _Signal:
        """One round of a loop, with names of its own."""
        outer = self.frame.scope
        self.frame.scope = BlockScope(outer)
        if name is not None and value is not None:
            self.frame.scope.names[name] = value
        try:
            return self._statements(body)
        finally:
            self.frame.scope = outer

    def _after(self, label: str | None, signal: _Signal) -> tuple[bool, _Signal]:
        """Whether the loop ends after a round that ended so, and what it passes on."""
        if isinstance(signal, _Leaving) and signal.label in (None, label):
            return not signal.again, None
        return signal is not None, signal

    def _leave(self, node: nodes.Leave) -> _Signal:
        return _Leaving(node.again, node.label)

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _return(self, node: nodes.Return) -> _Signal:
        if node.table is not None:
            return Returned(table=rows.of_table(self, node))
        if node.value is None:
            return Returned()
        return Returned(self.value(node.value, self.returns))

    def _raise(self, node: nodes.Raise) -> _Signal:
        if node.name is None:
            if self.frame.handling is None:
                raise self.fail("RAISE without an exception's name stands outside of any handler.", node)
            raise self.frame.handling
        declared = self.frame.scope.find(node.name)
        if not isinstance(declared, ExceptionType):
            raise self.fail(f"Exception '{node.name}' is not declared.", node)
        raise failures.of_user(declared, node.line, node.position)

    def _nothing(self, node: nodes.Nothing) -> _Signal:
        return None

    def _sql(self, node: nodes.SqlNode) -> _Signal:
        result = self.execute(node.text, node.line, node.position)
        if node.into:
            rows.store(self, node, node.into, rows.only_row(self, node, result), result)
        return None


def _inferred(type_: DataType) -> DataType:
    """The type of a variable that is declared by its value alone."""
    match type_.kind:
        case Kind.NUMBER if type_.scale:
            return types.FLOAT
        case Kind.NUMBER:
            return types.INTEGER if type_.int64 else types.number()
        case Kind.VARCHAR:
            return types.VARCHAR
        case _:
            return type_


_STATEMENTS: dict[type[nodes.ScriptNode], Callable[[Interpreter, Any], _Signal]] = {
    nodes.Block: Interpreter._block,
    nodes.VariableNode: Interpreter._declare,
    nodes.CursorDeclaration: rows.declare_cursor,
    nodes.ResultSetDeclaration: rows.declare_result_set,
    nodes.ExceptionDeclaration: Interpreter._declare_exception,
    nodes.ProcedureDeclaration: Interpreter._declare_procedure,
    nodes.Assignment: Interpreter._assign,
    nodes.If: Interpreter._if,
    nodes.Case: Interpreter._case,
    nodes.ForRange: Interpreter._for_range,
    nodes.ForRows: Interpreter._for_rows,
    nodes.While: Interpreter._while,
    nodes.Repeat: Interpreter._repeat,
    nodes.Loop: Interpreter._endless,
    nodes.Leave: Interpreter._leave,
    nodes.Return: Interpreter._return,
    nodes.Raise: Interpreter._raise,
    nodes.Nothing: Interpreter._nothing,
    nodes.Open: rows.open_cursor,
    nodes.Fetch: rows.fetch,
    nodes.Close: rows.close_cursor,
    nodes.SqlNode: Interpreter._sql,
}
