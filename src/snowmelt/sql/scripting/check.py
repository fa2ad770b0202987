"""Names in a block, before anything of it runs: every variable, cursor and exception that it uses must be declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import fold
from snowmelt.sql.bound import position_of
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.scripting import nodes
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText, TokenKind, tokenize

GIVEN = frozenset({"SQLROWCOUNT", "SQLFOUND", "SQLNOTFOUND", "SQLID", "SQLCODE", "SQLERRM", "SQLSTATE"})
"""Variables that Snowflake sets."""
_EXCEPTIONS = frozenset({"OTHER", "STATEMENT_ERROR", "EXPRESSION_ERROR"})
_BINDING = frozenset({"SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "CALL"})
"""The statements in which `:x` can only be a variable."""
_BEFORE_VALUES = frozenset(
    {
        "SELECT", "WHERE", "AND", "OR", "NOT", "ON", "BY", "LIMIT", "OFFSET", "IN", "LIKE", "ILIKE", "RLIKE",
        "BETWEEN", "WHEN", "THEN", "ELSE", "CASE", "SET", "VALUES", "HAVING", "QUALIFY", "DISTINCT", "ALL", "IS",
        "(", ",", "=", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "||", "=>", "[",
    }
)  # fmt: skip


def check(block: nodes.Block, arguments: Iterable[str] = ()) -> None:
    """Raises the compilation error of the first name that nobody declares. `arguments` are a procedure's."""
    _Checker(set(arguments)).block(block)


class _Checker:
    def __init__(self, names: set[str]) -> None:
        self.names = names
        """All that is declared where the walk stands."""
        self.rows: set[str] = set()
        """The row variables among them."""
        self.result_sets: set[str] = set()
        self.labels: list[str | None] = []

    # -- structure ----------------------------------------------------------------------------------------------------

    def block(self, block: nodes.Block) -> None:
        outer = set(self.names)
        for declaration in block.declarations:
            if declaration.name in self.names - outer:
                raise _at(declaration, f"variable '{declaration.name}' is declared twice")
            self.statement(declaration)
        self.statements(block.body)
        for handler in block.handlers:
            for name in handler.names:
                if name not in _EXCEPTIONS and name not in self.names:
                    raise _at(block, f"exception '{name}' is not declared")
            self.statements(handler.body)
        self.names = outer

    def statements(self, statements: nodes.Statements) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: nodes.Statement) -> None:
        _CHECKS[type(statement)](self, statement)

    def round(self, body: nodes.Statements, label: str | None, *names: str) -> None:
        """The body of a loop, with the names that each round has."""
        outer = set(self.names)
        self.names.update(names)
        self.labels.append(label)
        self.statements(body)
        self.labels.pop()
        self.names = outer

    # -- uses ---------------------------------------------------------------------------------------------------------

    def expression(self, text: SqlText) -> None:
        tree = parse_snowflake(text.text, line=text.line, column=text.column)
        for column in tree.find_all(exp.Column):
            if len(column.parts) != 1 or not isinstance(column.this, exp.Identifier):
                continue
            name = fold(column.name, quoted=bool(column.this.args.get("quoted")))
            known = self.declared(name) or name.startswith(("CURRENT_", "LOCALTIME")) or name in FUNCTIONS
            if not known and column.find_ancestor(exp.Query) is None and not is_word(column):
                position = position_of(column)
                raise errors.invalid_identifier(name, position.line, position.position)
        self.binds(text)

    def binds(self, text: SqlText) -> None:
        """`:x` inside SQL. Where it may be a path into a column instead, nothing is said."""
        source = tokenize(text)
        for index, token in enumerate(source.tokens[:-2]):
            following = source.tokens[index + 1]
            if token.word != ":" or following.kind not in (TokenKind.WORD, TokenKind.QUOTED):
                continue
            name = fold(following.text, quoted=following.kind is TokenKind.QUOTED)
            behind = source.tokens[index + 2]
            if behind.word == "." and behind.start == following.end:
                # A field of a row is no variable of its own: it has to be assigned to one first.
                raise source.unexpected(behind)
            before = source.tokens[index - 1].word if index else "("
            if before in _BEFORE_VALUES and not self.declared(name):
                raise errors.invalid_identifier(name, *source.position(following.start))

    def sql(self, text: SqlText) -> None:
        if tokenize(text).tokens[0].word in _BINDING:
            self.binds(text)

    def target(self, name: str, node: nodes.ScriptNode) -> None:
        if name not in self.names:
            raise errors.invalid_identifier(name, node.line, node.position)

    def declared(self, name: str) -> bool:
        return name in self.names or name in GIVEN

    # -- statements ---------------------------------------------------------------------------------------------------

    def _variable(self, node: nodes.VariableNode) -> None:
        if node.value is not None:
            if node.type is None and self._has_no_type(node.value):
                raise untyped(node)
            self.expression(node.value)
        self.names.add(node.name)

    def _has_no_type(self, text: SqlText) -> bool:
        """NULL, a name that nobody declares, and a field of a row, whose type shows only when the loop runs."""
        tree = parse_snowflake(text.text, line=text.line, column=text.column)
        if not isinstance(tree, exp.Column) or not all(isinstance(part, exp.Identifier) for part in tree.parts):
            return isinstance(tree, exp.Null)
        first = fold(tree.parts[0].name, quoted=bool(tree.parts[0].args.get("quoted")))
        return first in self.rows if len(tree.parts) == 2 else not self.declared(first) and first not in FUNCTIONS

    def _cursor(self, node: nodes.CursorDeclaration) -> None:
        if node.query is not None:
            self.sql(node.query)
        elif node.result_set is not None:
            self.target(node.result_set, node)
        self.names.add(node.name)

    def _result_set(self, node: nodes.ResultSetDeclaration) -> None:
        if node.query is not None:
            self.sql(node.query)
        self.names.add(node.name)
        self.result_sets.add(node.name)

    def _exception(self, node: nodes.ExceptionDeclaration) -> None:
        self.names.add(node.name)

    def _procedure(self, node: nodes.ProcedureDeclaration) -> None:
        check(node.body, [argument.name for argument in node.arguments])
        self.names.add(node.name)

    def _assignment(self, node: nodes.Assignment) -> None:
        self.target(node.name, node)
        if node.name in self.result_sets:
            self.sql(TokenCursor(node.value).inside())
        else:
            self.expression(node.value)

    def _branches(self, node: nodes.If | nodes.Case) -> None:
        if isinstance(node, nodes.Case) and node.subject is not None:
            self.expression(node.subject)
        for branch in node.branches:
            self.expression(branch.condition)
            self.statements(branch.body)
        self.statements(node.otherwise)

    def _for_range(self, node: nodes.ForRange) -> None:
        self.expression(node.first)
        self.expression(node.last)
        self.round(node.body, node.label, node.name)

    def _for_rows(self, node: nodes.ForRows) -> None:
        if node.source is not None:
            self.target(node.source, node)
        elif node.query is not None:
            self.sql(node.query)
        rows = set(self.rows)
        self.rows.add(node.name)
        self.round(node.body, node.label, node.name)
        self.rows = rows

    def _while(self, node: nodes.While) -> None:
        self.expression(node.condition)
        self.round(node.body, node.label)

    def _repeat(self, node: nodes.Repeat) -> None:
        self.round(node.body, node.label)

    def _loop(self, node: nodes.Loop) -> None:
        self.round(node.body, node.label)

    def _leave(self, node: nodes.Leave) -> None:
        word = "CONTINUE" if node.again else "BREAK"
        if not self.labels:
            raise _at(node, f"{word} stands outside of any loop")
        if node.label is not None and node.label not in self.labels:
            raise _at(node, f"no loop around {word} has the label '{node.label}'")

    def _return(self, node: nodes.Return) -> None:
        if node.value is not None:
            self.expression(node.value)
        elif node.table is not None:
            self.sql(node.table)

    def _raise(self, node: nodes.Raise) -> None:
        if node.name is not None and node.name not in self.names:
            raise _at(node, f"exception '{node.name}' is not declared")

    def _nothing(self, node: nodes.Nothing) -> None:
        pass

    def _open(self, node: nodes.Open) -> None:
        self.target(node.cursor, node)
        for text in node.using:
            self.expression(text)

    def _fetch(self, node: nodes.Fetch) -> None:
        for name in (node.cursor, *node.into):
            self.target(name, node)

    def _close(self, node: nodes.Close) -> None:
        self.target(node.cursor, node)

    def _sql(self, node: nodes.SqlNode) -> None:
        for name in node.into:
            self.target(name, node)
        self.sql(node.text)


def untyped(node: nodes.VariableNode) -> SnowmeltError:
    detail = f"variable '{node.name}' cannot have its type inferred from initializer"
    return errors.at_position("092228", "P0000", node.line, node.position, detail)


def is_word(column: exp.Column) -> bool:
    """Whether the name is a word of its function's: DAY in DATEADD(day, 1, d)."""
    call = column.parent
    function = FUNCTIONS.get(call.name.upper()) if isinstance(call, exp.Anonymous) else None
    if function is None or call is None or not function.takes:
        return False
    index = next((number for number, argument in enumerate(call.expressions) if argument is column), 0)
    return function.takes[min(index, len(function.takes) - 1)] == "word"


def _at(node: nodes.ScriptNode, detail: str) -> SnowmeltError:
    return errors.at_position("092223", "P0000", node.line, node.position, detail)


_CHECKS: dict[type[nodes.ScriptNode], Callable[[_Checker, Any], None]] = {
    nodes.Block: _Checker.block,
    nodes.VariableNode: _Checker._variable,
    nodes.CursorDeclaration: _Checker._cursor,
    nodes.ResultSetDeclaration: _Checker._result_set,
    nodes.ExceptionDeclaration: _Checker._exception,
    nodes.ProcedureDeclaration: _Checker._procedure,
    nodes.Assignment: _Checker._assignment,
    nodes.If: _Checker._branches,
    nodes.Case: _Checker._branches,
    nodes.ForRange: _Checker._for_range,
    nodes.ForRows: _Checker._for_rows,
    nodes.While: _Checker._while,
    nodes.Repeat: _Checker._repeat,
    nodes.Loop: _Checker._loop,
    nodes.Leave: _Checker._leave,
    nodes.Return: _Checker._return,
    nodes.Raise: _Checker._raise,
    nodes.Nothing: _Checker._nothing,
    nodes.Open: _Checker._open,
    nodes.Fetch: _Checker._fetch,
    nodes.Close: _Checker._close,
    nodes.SqlNode: _Checker._sql,
}
