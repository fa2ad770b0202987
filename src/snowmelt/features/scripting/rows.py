"""Cursors, result sets and row variables of scripts."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import DataType
from snowmelt.features.scripting import evaluation, failures
from snowmelt.features.scripting.failures import RaisedError
from snowmelt.features.scripting.frames import Binds, Frame, LoopRow, OpenCursor, ResultSet, Slot, variables_of
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.runtime.variables import Variable
from snowmelt.sql.scripting import nodes
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText


class Script(Protocol):
    """The script that declares and reads rows: an `Interpreter`."""

    @property
    def frame(self) -> Frame: ...
    @property
    def session(self) -> Session: ...

    def value(self, text: SqlText, target: DataType | None = None) -> Variable: ...
    def execute(self, text: SqlText, line: int, position: int) -> Result: ...
    def fail(self, message: str, node: nodes.ScriptNode) -> RaisedError: ...


# -- result sets -------------------------------------------------------------------------------------------------------


def declare_result_set(script: Script, node: nodes.ResultSetDeclaration) -> None:
    result = None
    if node.query is not None:
        result = script.execute(node.query, node.query.line, node.query.column)
    script.frame.scope.names[node.name] = ResultSet(result)


def of_brackets(script: Script, text: SqlText) -> Result:
    """The result of `(query)`, what is assigned to a RESULTSET."""
    cursor = TokenCursor(text)
    query = cursor.inside()
    cursor.done()
    return script.execute(query, text.line, text.column)


def of_table(script: Script, node: nodes.Return) -> Result:
    """What RETURN TABLE(…) gives: a RESULTSET, the rows of a cursor, or a query's."""
    text = node.table
    assert text is not None
    name = evaluation.name_alone(text)
    if name is not None:
        return _result_of(script, name, node)
    cursor = TokenCursor(text)
    if cursor.match("RESULTSET_FROM_CURSOR"):
        inner = evaluation.name_alone(cursor.inside())
        opened = _cursor(script, inner or "", node)
        return _result(script, opened, node)
    return script.execute(text, text.line, text.column)


def _result_of(script: Script, name: str, node: nodes.ScriptNode) -> Result:
    entry = script.frame.scope.find(name)
    if not isinstance(entry, ResultSet):
        raise script.fail(f"RESULTSET '{name}' is not declared.", node)
    if entry.result is None:
        raise script.fail(f"RESULTSET '{name}' has no query yet.", node)
    return entry.result


# -- cursors -----------------------------------------------------------------------------------------------------------


def declare_cursor(script: Script, node: nodes.CursorDeclaration) -> None:
    script.frame.scope.names[node.name] = OpenCursor(node)


def open_cursor(script: Script, node: nodes.Open) -> None:
    cursor = _cursor(script, node.cursor, node)
    if cursor.result is not None:
        raise script.fail(f"Cursor '{node.cursor}' is already open.", node)
    values = [script.value(text) for text in node.using]
    cursor.open(_run(script, cursor, values, node))


def fetch(script: Script, node: nodes.Fetch) -> None:
    cursor = _cursor(script, node.cursor, node)
    result = _result(script, cursor, node)
    row = cursor.rows[cursor.next] if cursor.next < len(cursor.rows) else None
    cursor.next += 1
    store(script, node, node.into, row, result)


def close_cursor(script: Script, node: nodes.Close) -> None:
    cursor = _cursor(script, node.cursor, node)
    _result(script, cursor, node)
    cursor.close()


def _cursor(script: Script, name: str, node: nodes.ScriptNode) -> OpenCursor:
    entry = script.frame.scope.find(name)
    if not isinstance(entry, OpenCursor):
        raise script.fail(f"Cursor '{name}' is not declared.", node)
    return entry


def _result(script: Script, cursor: OpenCursor, node: nodes.ScriptNode) -> Result:
    if cursor.result is None:
        raise script.fail(f"Cursor '{cursor.declaration.name}' is not open.", node)
    return cursor.result


def _run(script: Script, cursor: OpenCursor, values: list[Variable], node: nodes.ScriptNode) -> Result:
    declaration = cursor.declaration
    if declaration.query is None:
        assert declaration.result_set is not None
        return _result_of(script, declaration.result_set, node)
    text = SqlText(evaluation.with_names(declaration.query.text, len(values)))
    with variables_of(script.session, Binds(values, script.frame, sees_around=True)):
        return script.execute(text, node.line, node.position)


# -- rows --------------------------------------------------------------------------------------------------------------


def each(script: Script, node: nodes.ForRows) -> Generator[LoopRow]:
    """The rows that a FOR loop goes through. A cursor that is closed is opened for the loop alone."""
    if node.query is not None:
        yield from _rows(script.execute(node.query, node.query.line, node.query.column))
        return
    assert node.source is not None
    entry = script.frame.scope.find(node.source)
    if not isinstance(entry, OpenCursor):
        yield from _rows(_result_of(script, node.source, node))
        return
    opened_here = entry.result is None
    if opened_here:
        entry.open(_run(script, entry, [], node))
    assert entry.result is not None
    try:
        while entry.next < len(entry.rows):
            entry.next += 1
            yield _row(entry.result, entry.rows[entry.next - 1])
    finally:
        if opened_here:
            entry.close()


def _rows(result: Result) -> Generator[LoopRow]:
    for values in result.rows():
        yield _row(result, values)


def _row(result: Result, values: tuple[Any, ...]) -> LoopRow:
    return LoopRow({c.name: Variable(value, c.type) for c, value in zip(result.columns, values, strict=True)})


def only_row(script: Script, node: nodes.SqlNode, result: Result) -> tuple[Any, ...] | None:
    """The row of SELECT … INTO; None when there is none, which leaves the variables NULL."""
    count = result.data.num_rows
    if count > 1:
        raise script.fail(f"A SELECT INTO statement expects exactly 1 returned row, but got {count}.", node)
    return result.rows()[0] if count else None


def store(
    script: Script, node: nodes.ScriptNode, names: tuple[str, ...], row: tuple[Any, ...] | None, result: Result
) -> None:
    """Puts the values of a row into variables, converted to their types; NULL where there is no row."""
    if len(names) != len(result.columns):
        raise script.fail(f"The query has {len(result.columns)} column(s) for {len(names)} variable(s).", node)
    slots: list[Slot] = []
    for name in names:
        entry = script.frame.scope.find(name)
        if not isinstance(entry, Slot):
            raise script.fail(f"Variable '{name}' is not declared.", node)
        slots.append(entry)
    for index, slot in enumerate(slots):
        value = Variable(None if row is None else row[index], result.columns[index].type)
        try:
            slot.value = evaluation.convert(script.session, value, slot.type).value
        except SnowmeltError as error:
            raise failures.failed(failures.STATEMENT, error, node.line, node.position) from error
