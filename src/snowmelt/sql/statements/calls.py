"""CALL and EXECUTE IMMEDIATE."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.sql.statements.base import NameRef, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText, TokenKind


@dataclass(frozen=True, slots=True)
class CallArgument:
    value: SqlText
    name: str | None = None
    """Set for `name => value`."""


@dataclass(frozen=True, slots=True)
class Call(Statement):
    name: NameRef
    arguments: tuple[CallArgument, ...] = ()
    into: str | None = None
    """The scripting variable of INTO :x, folded."""


@dataclass(frozen=True, slots=True)
class ExecuteImmediate(Statement):
    """Exactly one of `text` and `expression` is there."""

    text: SqlText | None
    """The statement, where it was written as a literal."""
    expression: SqlText | None = None
    """What gives the statement's text: `$var`, `:var`, `var`, a concatenation."""
    using: tuple[SqlText, ...] = ()


def parse_call(cursor: TokenCursor) -> Call:
    name = cursor.name()
    cursor.expect("(")
    arguments: list[CallArgument] = []
    while not cursor.match(")"):
        if arguments:
            cursor.expect(",")
        argument = None
        if cursor.peek(1).word == "=>":
            argument = cursor.identifier()
            cursor.advance()
        arguments.append(CallArgument(cursor.until(","), argument))
    into = None
    if cursor.match("INTO"):
        cursor.expect(":")
        into = cursor.identifier()
    return Call(name, tuple(arguments), into)


def parse_execute_immediate(cursor: TokenCursor) -> ExecuteImmediate:
    following = cursor.peek(1)
    text: SqlText | None = None
    expression: SqlText | None = None
    ends = following.kind is TokenKind.END or following.word in ("USING", ";")
    if cursor.at_kind(TokenKind.STRING) and ends:
        text = literal_text(cursor)
    else:
        expression = cursor.until("USING")
    using = cursor.expression_list() if cursor.match("USING") else ()
    return ExecuteImmediate(text, expression, using)


def literal_text(cursor: TokenCursor) -> SqlText:
    """The value of a string, placed where its content begins; an escape shifts the positions behind it."""
    token = cursor.peek()
    cursor.string()
    quote = 2 if cursor.source.sql.text.startswith("$$", token.start) else 1
    line, column = cursor.source.position(token.start + quote)
    return SqlText(token.text, line, column)
