"""Text to tokens, and a script to its statements.

The tokenizer is sqlglot's for Snowflake with its keywords taken out: every word is a word, so that the
statement parser alone decides what `COMMENT` or `TABLE` mean, and nothing swallows the rest of a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import ClassVar

from sqlglot.dialects.snowflake import Snowflake
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from snowmelt.core import errors

_TRANSACTION_WORDS = frozenset({"", ";", "TRANSACTION", "WORK", "NAME"})
"""What follows a BEGIN that starts a transaction, not a block; the empty word is the end of the text."""
_OPENS_AT_START = frozenset({"IF", "FOR", "WHILE", "LOOP", "REPEAT"})
_STATEMENT_FOLLOWS = frozenset({";", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"})
_AFTER_END = frozenset({"IF", "FOR", "WHILE", "LOOP", "REPEAT", "CASE"})
_HAS_BODY = frozenset({"PROCEDURE", "FUNCTION", "TASK", "ALERT"})


@dataclass(frozen=True, slots=True)
class SqlText:
    """A piece of SQL exactly as the user wrote it, and where it starts in what they sent.

    The position is for messages only: two pieces are equal when their text is.
    """

    text: str
    line: int = field(default=1, compare=False)
    """From 1."""
    column: int = field(default=0, compare=False)
    """From 0, as Snowflake prints positions."""
    around: str | None = field(default=None, compare=False)
    """What was sent for it, where that is more or other than `text`: with comments around it, without values bound."""

    @property
    def sent(self) -> str:
        """The text as the client sent it, for the history."""
        return self.text if self.around is None else self.around

    def __str__(self) -> str:
        return self.text


class TokenKind(Enum):
    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    """The value: a string without its quotes and escapes, a quoted identifier without its quotes."""
    word: str
    """The upper-cased text of a WORD or SYMBOL, empty for the others, so that one comparison matches both."""
    start: int
    end: int
    """Offsets into the source: `source[start:end]`."""


class _Tokenizer(Snowflake.Tokenizer):
    COMMANDS: ClassVar[set[TokenType]] = set()
    HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        "::": TokenType.DCOLON,
        "->": TokenType.ARROW,
        "->>": TokenType.DARROW,
        "=>": TokenType.FARROW,
        ":=": TokenType.COLON_EQ,
        "||": TokenType.DPIPE,
        "<=": TokenType.LTE,
        ">=": TokenType.GTE,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        # Without it the slashes of an unquoted `file:///tmp/x` in PUT would begin a comment.
        "FILE://": TokenType.URI_START,
    }


_KINDS = {
    TokenType.VAR: TokenKind.WORD,
    TokenType.IDENTIFIER: TokenKind.QUOTED,
    TokenType.STRING: TokenKind.STRING,
    TokenType.RAW_STRING: TokenKind.STRING,
    TokenType.NATIONAL_STRING: TokenKind.STRING,
    TokenType.NUMBER: TokenKind.NUMBER,
}

# What may be left open at the end of a text. sqlglot says that something is, but not where it began. What is open
# reaches to the end: looking for its end again behind each beginning would take for ever.
_OPENINGS = re.compile(
    r"""--[^\n]*|//[^\n]*
      | (?P<comment>/\*).*?(?:\*/(?P<c>)|\Z)
      | (?P<string>')(?:[^'\\]|''|\\.)*(?:'(?P<s>)|\\?\Z)
      | (?P<identifier>")(?:[^"]|"")*(?:"(?P<i>)|\Z)
      | (?P<text>\$\$).*?(?:\$\$(?P<t>)|\Z)
      | (?:file://)[^\s;'"]* | .""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)

_NAMED = frozenset({"comment", "string", "identifier", "text"})
_ONE_STATEMENT = re.compile(r"[A-Za-z](?:[ \t\n!#%&(-,.0-:<-\[\]-~]|-(?!-)|/(?![/*])|'[ -&(-\[\]-~]*')*(?<=[!-~])")
"""Plainly one statement, without a comment, and nothing before or behind it: what most clients send."""
_SHORT = 10_000


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text with its tokens, able to say where in the user's script each of them stands."""

    sql: SqlText
    tokens: tuple[Token, ...]
    """Always ends with one END token."""
    line_starts: tuple[int, ...]

    def position(self, offset: int) -> tuple[int, int]:
        """The line (from 1) and position (from 0) of an offset, counted in the whole script."""
        index = bisect_right(self.line_starts, offset) - 1
        column = offset - self.line_starts[index]
        return self.sql.line + index, column + (self.sql.column if index == 0 else 0)

    def piece(self, start: int, end: int) -> SqlText:
        line, column = self.position(start)
        return SqlText(self.sql.text[start:end], line, column)

    def unexpected(self, token: Token) -> errors.SnowmeltError:
        line, position = self.position(token.start)
        return errors.syntax_error(line, position, self.sql.text[token.start : token.end])


def tokenize(sql: SqlText | str) -> TokenizedText:
    """The tokens of a text, without comments and white space. What is left open is a syntax error."""
    if isinstance(sql, str):
        sql = SqlText(sql)
    text = sql.text
    line_starts = (0, *(match.end() for match in re.finditer("\n", text)))
    try:
        raw = _Tokenizer(dialect="snowflake").tokenize(_without_wild_cards(text))
    except TokenError:
        raise _left_open(TokenizedText(sql, (), line_starts)) from None
    tokens: list[Token] = []
    for item in raw:
        kind = _KINDS.get(item.token_type, TokenKind.SYMBOL)
        word = item.text.upper() if kind in (TokenKind.WORD, TokenKind.SYMBOL) else ""
        tokens.append(Token(kind, item.text, word, item.start, item.end + 1))
    tokens.append(Token(TokenKind.END, "", "", len(text), len(text)))
    return TokenizedText(sql, tuple(tokens), line_starts)


def _without_wild_cards(text: str) -> str:
    """Hides what an unquoted `file:///tmp/*.csv` has behind its scheme, where `/*` would begin a comment.

    No offset changes, so that whoever wants the path takes it from the text.
    """
    if "file://" not in text.lower():
        return text

    def hide(match: re.Match[str]) -> str:
        found = match[0]
        return found[:7] + "_" * (len(found) - 7) if found[:7].lower() == "file://" else found

    return _OPENINGS.sub(hide, text)


def _left_open(source: TokenizedText) -> errors.SnowmeltError:
    for match in _OPENINGS.finditer(source.sql.text):
        if match.lastgroup in _NAMED:
            start = match.start()
            shown = source.sql.text[start : start + 40].split("\n", 1)[0]
            return errors.syntax_error(*source.position(start), shown, hint=f"This {match.lastgroup} is never closed.")
    return errors.syntax_error(*source.position(len(source.sql.text)), "")


def split_statements(text: str) -> list[SqlText]:
    """The statements of a script, without their semicolons and the comments around them.

    A `;` inside a string, a comment or a scripting block does not separate. A block that is never closed
    reaches to the end of the text: whoever parses it says what is missing.

    A comment was sent for the statement whose `;` comes next, and for the last one if none does.
    """
    if len(text) <= _SHORT and _ONE_STATEMENT.fullmatch(text):
        return [SqlText(text, around=text)]
    source = tokenize(text)
    statements: list[SqlText] = []
    spans: list[tuple[int, int]] = []
    index = begin = 0
    commented = False
    while source.tokens[index].kind is not TokenKind.END:
        if source.tokens[index].word == ";":
            # Nothing stands before it, but perhaps a comment.
            commented = commented or bool(text[begin : source.tokens[index].start].strip())
            begin = begin if commented else source.tokens[index].end
            index += 1
            continue
        end = statement_end(source.tokens, index)
        statements.append(source.piece(source.tokens[index].start, source.tokens[end - 1].end))
        spans.append((begin, source.tokens[end].start))
        index, begin, commented = end, source.tokens[end].end, False
    if len(statements) == 1:
        return [replace(statements[0], around=text)]
    if spans and text[begin:].strip(" \n\r\t;"):
        spans[-1] = spans[-1][0], len(text)
    return [
        replace(statement, around=text[start:end].strip())
        for statement, (start, end) in zip(statements, spans, strict=True)
    ]


def starts_block(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether an anonymous scripting block begins here, rather than a transaction or anything else."""
    word = tokens[index].word
    return word == "DECLARE" or (word == "BEGIN" and not _begins_transaction(tokens, index))


def _begins_transaction(tokens: tuple[Token, ...], index: int) -> bool:
    following = tokens[index + 1]
    return following.word in _TRANSACTION_WORDS and following.kind in (
        TokenKind.WORD,
        TokenKind.SYMBOL,
        TokenKind.END,
    )


def statement_end(tokens: tuple[Token, ...], index: int) -> int:
    """The index of the `;` or END token that ends the statement which starts at `index`."""
    if starts_block(tokens, index):
        index = block_end(tokens, index)
    elif tokens[index].word in ("CREATE", "ALTER"):
        body = _body_start(tokens, index)
        index = index if body is None else block_end(tokens, body)
    while tokens[index].kind is not TokenKind.END and tokens[index].word != ";":
        index += 1
    return index


def _body_start(tokens: tuple[Token, ...], index: int) -> int | None:
    """Where the bare scripting block of a CREATE PROCEDURE, TASK, … begins, if this is such a statement."""
    has_body = False
    depth = 0
    while tokens[index].kind is not TokenKind.END and tokens[index].word != ";":
        word = tokens[index].word
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif depth == 0:
            has_body = has_body or word in _HAS_BODY
            if has_body and word in ("AS", "THEN") and starts_block(tokens, index + 1):
                return index + 1
        index += 1
    return None


def _opens(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether the word at the start of a statement opens something that an END closes."""
    word = tokens[index].word
    if word == "BEGIN":
        return starts_block(tokens, index)
    # `THEN REPEAT('a', 3)` in a CASE expression is the function.
    return word in _OPENS_AT_START and not (word == "REPEAT" and tokens[index + 1].word == "(")


def _ends(opened: str, following: str) -> bool:
    """Whether an END amid a statement closes what was opened: CASE … END, REPEAT … UNTIL (…) END REPEAT."""
    return opened == "CASE" or opened == following == "REPEAT"


def block_end(tokens: tuple[Token, ...], index: int) -> int:
    """The index after the END that closes the block which starts at `index`, or that of the END token.

    Words open and close only where the grammar lets them, so that columns named `end` or `begin` do no harm:
    CASE anywhere, the others at the start of a statement.
    """
    declaring = tokens[index].word == "DECLARE"
    open_words: list[str] = []
    previous = ";"
    while tokens[index].kind is not TokenKind.END:
        word = tokens[index].word
        at_start = previous in _STATEMENT_FOLLOWS
        if previous in (".", ":"):
            pass
        elif word == "CASE":
            open_words.append(word)
        elif word == "BEGIN" and previous == "AS" and starts_block(tokens, index):
            # A procedure inside a block or its DECLARE section.
            open_words.append("PROCEDURE")
        elif at_start and _opens(tokens, index):
            open_words.append(word)
        elif word == "END" and open_words and (at_start or _ends(open_words[-1], tokens[index + 1].word)):
            closed = open_words.pop()
            if tokens[index + 1].word in _AFTER_END:
                index += 1
            if not open_words and not (declaring and closed == "PROCEDURE"):
                return index + 1
            word = "END"
        previous = word
        index += 1
    return index
