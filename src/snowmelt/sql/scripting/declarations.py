"""The declarations of a block: variables, cursors, result sets, exceptions, procedures of its own."""

from __future__ import annotations

from typing import Protocol

from snowmelt.core import errors
from snowmelt.core.type_errors import unknown_type
from snowmelt.core.types import DataType, parse_type
from snowmelt.sql.scripting import nodes
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText, Token

_CODES = range(-20999, -19999)
"""The numbers that Snowflake keeps for exceptions of the user's."""


class BlockParser(Protocol):
    """What reads the block that a declaration stands in."""

    cursor: TokenCursor

    def position(self, token: Token) -> tuple[int, int]: ...

    def sql_text(self) -> SqlText: ...

    def block(self) -> nodes.Block: ...


def declaration(parser: BlockParser, *, value_needed: bool) -> nodes.Declaration:
    """What follows DECLARE or LET, up to the semicolon. LET asks for a value at once."""
    cursor = parser.cursor
    token = cursor.peek()
    line, position = parser.position(token)
    name = cursor.identifier()
    if cursor.match("CURSOR"):
        return _cursor(parser, line, position, name)
    if cursor.match("RESULTSET"):
        return _result_set(parser, line, position, name)
    if cursor.at("EXCEPTION") and not value_needed:
        cursor.advance()
        return _exception(cursor, line, position, name)
    if cursor.at("PROCEDURE") and not value_needed:
        cursor.advance()
        return _procedure(parser, line, position, name)
    type_ = None if cursor.at_any((":=", "DEFAULT")) else read_type(cursor)
    value = None
    if cursor.match_any((":=", "DEFAULT")):
        value = cursor.until()
    elif value_needed or type_ is None:
        raise cursor.unexpected()
    return nodes.VariableNode(line, position, name, type_, value)


def read_type(cursor: TokenCursor) -> DataType:
    token = cursor.peek()
    text = cursor.type_text()
    found = parse_type(text.text)
    if found is None:
        line, position = cursor.source.position(token.start)
        raise unknown_type(text.text, line, position)
    return found


def _cursor(parser: BlockParser, line: int, position: int, name: str) -> nodes.CursorDeclaration:
    cursor = parser.cursor
    cursor.expect("FOR")
    if cursor.peek(1).word == ";":
        return nodes.CursorDeclaration(line, position, name, None, cursor.identifier())
    return nodes.CursorDeclaration(line, position, name, parser.sql_text())


def _result_set(parser: BlockParser, line: int, position: int, name: str) -> nodes.ResultSetDeclaration:
    cursor = parser.cursor
    query: SqlText | None = None
    if cursor.match_any((":=", "DEFAULT")):
        query = bracketed_query(cursor)
    return nodes.ResultSetDeclaration(line, position, name, query)


def bracketed_query(cursor: TokenCursor) -> SqlText:
    """`(SELECT …)` or any other statement in parentheses."""
    if cursor.at("ASYNC"):
        raise errors.unsupported("ASYNC")
    return cursor.inside()


def _exception(cursor: TokenCursor, line: int, position: int, name: str) -> nodes.ExceptionDeclaration:
    if not cursor.match("("):
        return nodes.ExceptionDeclaration(line, position, name)
    token: Token = cursor.peek()
    code = cursor.whole()
    if code not in _CODES:
        at_line, at_position = cursor.source.position(token.start)
        raise errors.at_position(
            "092209", "P0000", at_line, at_position, f"Invalid exception number {code}: it must be -20000 to -20999."
        )
    message = cursor.string() if cursor.match(",") else ""
    cursor.expect(")")
    return nodes.ExceptionDeclaration(line, position, name, code, message)


def _procedure(parser: BlockParser, line: int, position: int, name: str) -> nodes.ProcedureDeclaration:
    cursor = parser.cursor
    cursor.expect("(")
    arguments: list[nodes.ProcedureArgument] = []
    while not cursor.match(")"):
        if arguments:
            cursor.expect(",")
        argument = cursor.identifier()
        type_ = read_type(cursor)
        default = cursor.until(",") if cursor.match("DEFAULT") else None
        arguments.append(nodes.ProcedureArgument(argument, type_, default))
    cursor.expect("RETURNS")
    returns: DataType | None = None
    if cursor.match("TABLE"):
        cursor.skip_parenthesised()
    else:
        returns = read_type(cursor)
    cursor.match("NOT", "NULL")
    cursor.expect("AS")
    return nodes.ProcedureDeclaration(line, position, name, tuple(arguments), returns, parser.block())
