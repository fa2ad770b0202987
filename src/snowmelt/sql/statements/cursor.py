"""Walks over the tokens of one statement. Never recursive: nesting is counted, not descended into."""

from __future__ import annotations

import re
from collections.abc import Collection

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import fold, split_name
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.tokens import SqlText, Token, TokenKind, statement_end, tokenize

_WHOLE = re.compile(r"\d+\Z")
_OPENING = frozenset({"(", "[", "{"})
_CLOSING = frozenset({")", "]", "}"})
RESERVED = frozenset(
    {
        "ALL", "ALTER", "AND", "ANY", "AS", "BETWEEN", "BY", "CHECK", "COLUMN", "CONNECT", "CREATE",
        "CURRENT", "DELETE", "DISTINCT", "DROP", "ELSE", "EXISTS", "FOLLOWING", "FOR", "FROM", "GRANT",
        "GROUP", "HAVING", "ILIKE", "IN", "INCREMENT", "INSERT", "INTERSECT", "INTO", "IS", "LIKE", "MINUS",
        "NOT", "NULL", "OF", "ON", "OR", "ORDER", "QUALIFY", "REGEXP", "REVOKE", "RLIKE", "ROW", "ROWS",
        "SAMPLE", "SELECT", "SET", "SOME", "START", "TABLE", "TABLESAMPLE", "THEN", "TO", "TRIGGER",
        "UNION", "UNIQUE", "UPDATE", "VALUES", "WHENEVER", "WHERE", "WINDOW", "WITH",
    }
)  # fmt: skip
"""Words that are no identifiers unless quoted."""
_INTERVALS = (
    ("YEAR", "MONTH"), ("DAY", "HOUR"), ("DAY", "MINUTE"), ("DAY", "SECOND"), ("HOUR", "MINUTE"), ("HOUR", "SECOND"),
    ("MINUTE", "SECOND"),
)  # fmt: skip
_TYPE_TAILS: dict[str, tuple[tuple[str, ...], ...]] = {
    "DOUBLE": (("PRECISION",),),
    "CHAR": (("VARYING",),),
    "NCHAR": (("VARYING",),),
    "CHARACTER": (("VARYING",),),
    "INTERVAL": (
        *((first, "TO", last) for first, last in _INTERVALS),
        *((word,) for word in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")),
    ),
    "TIMESTAMP": (
        ("WITH", "LOCAL", "TIME", "ZONE"),
        ("WITH", "TIME", "ZONE"),
        ("WITHOUT", "TIME", "ZONE"),
    ),
}


class TokenCursor:
    def __init__(self, sql: SqlText | str) -> None:
        self.source = tokenize(sql)
        self.tokens = self.source.tokens
        self.index = 0

    # Looking

    def peek(self, offset: int = 0) -> Token:
        return self.tokens[min(self.index + offset, len(self.tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether these words and symbols come next. A quoted identifier is never a word."""
        return all(self.peek(offset).word == word for offset, word in enumerate(words))

    def at_any(self, words: Collection[str]) -> bool:
        return self.peek().word in words and self.peek().word != ""

    def at_kind(self, kind: TokenKind) -> bool:
        return self.peek().kind is kind

    @property
    def at_end(self) -> bool:
        return self.at_kind(TokenKind.END) or self.at(";")

    # Taking

    def advance(self) -> Token:
        token = self.peek()
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def match(self, *words: str) -> bool:
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def match_any(self, words: Collection[str]) -> str | None:
        return self.advance().word if self.at_any(words) else None

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.match(word):
                raise self.unexpected()

    def expect_any(self, words: Collection[str]) -> str:
        word = self.match_any(words)
        if word is None:
            raise self.unexpected()
        return word

    def unexpected(self, token: Token | None = None) -> SnowmeltError:
        """The syntax error at a token, by default the next one."""
        return self.source.unexpected(self.peek() if token is None else token)

    def done(self) -> None:
        """Nothing but semicolons may follow."""
        if not self.at_end:
            raise self.unexpected()
        count = 1
        while not self.at_kind(TokenKind.END):
            if not self.match(";"):
                self.index = statement_end(self.tokens, self.index)
                count += 1
        if count > 1:
            raise SnowmeltError(
                "000008",
                "0A000",
                f"Actual statement count {count} did not match the desired statement count 1.",
            )

    # Values

    def string(self) -> str:
        if not self.at_kind(TokenKind.STRING):
            raise self.unexpected()
        return self.advance().text

    def whole(self) -> int:
        """A whole number with an optional sign."""
        negative = self.match("-")
        if not negative:
            self.match("+")
        token = self.peek()
        # int() refuses texts of more than some thousand digits with an error of its own.
        if token.kind is not TokenKind.NUMBER or not _WHOLE.match(token.text) or len(token.text) > 38:
            raise self.unexpected()
        self.advance()
        return -int(token.text) if negative else int(token.text)

    def identifier(self) -> str:
        """One identifier, folded."""
        token = self.peek()
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED) or not token.text or token.word in RESERVED:
            raise self.unexpected()
        self.advance()
        return fold(token.text, quoted=token.kind is TokenKind.QUOTED)

    def name(self, parts: int = 3) -> NameRef:
        """A dotted name of at most so many parts, or IDENTIFIER(…)."""
        line, position = self.source.position(self.peek().start)
        if self.at("IDENTIFIER", "("):
            return self._computed_name(line, position, parts)
        found = [self.identifier()]
        while self.at("."):
            if len(found) == parts:
                raise self.unexpected()
            self.advance()
            # `db..t`: the schema left out is PUBLIC.
            found.append("PUBLIC" if len(found) == 1 and self.at(".") else self.identifier())
        return NameRef(tuple(found), line, position)

    def _computed_name(self, line: int, position: int, parts: int) -> NameRef:
        self.expect("IDENTIFIER", "(")
        sigil = self.match_any(("$", ":"))
        if sigil is not None:
            name = NameRef((), line, position, variable=sigil + self.identifier())
        else:
            token = self.peek()
            found = split_name(self.string())
            if found is None or len(found) > parts:
                raise errors.invalid_identifier(token.text, *self.source.position(token.start))
            name = NameRef(found, line, position)
        self.expect(")")
        return name

    def identifiers(self) -> tuple[str, ...]:
        """`(a, b, …)`, folded."""
        self.expect("(")
        found = [self.identifier()]
        while self.match(","):
            found.append(self.identifier())
        self.expect(")")
        return tuple(found)

    # Slices

    def since(self, start: int) -> SqlText:
        """The source from the token at index `start` to the last one taken; it must not be empty."""
        if start >= self.index:
            raise self.unexpected()
        return self.source.piece(self.tokens[start].start, self.tokens[self.index - 1].end)

    def until(self, *stops: str, takes_first: bool = False) -> SqlText:
        """The text up to one of these words or symbols outside all nesting, or to the end of the statement.

        With `takes_first` the first token is never a stop: `DEFAULT NULL NOT NULL` has the default NULL.
        """
        start = self.index
        nesting: list[str] = []
        while not self.at_kind(TokenKind.END):
            word = self.peek().word
            # `t.from` is a column, and IS DISTINCT FROM an operator.
            previous = self.tokens[self.index - 1].word
            free = not nesting and previous != "." and not (word == "FROM" and previous == "DISTINCT")
            if not nesting and (word == ";" or word in _CLOSING):
                break
            if free and word in stops and not (takes_first and self.index == start):
                break
            if word in _OPENING or word == "CASE":
                nesting.append(word)
            elif word in _CLOSING:
                # A CASE that its closing bracket cuts short is the expression parser's to report.
                while nesting and nesting.pop() == "CASE":
                    pass
            elif word == "END" and nesting and nesting[-1] == "CASE":
                nesting.pop()
            self.advance()
        if any(word != "CASE" for word in nesting):
            raise self.unexpected()
        return self.since(start)

    def rest(self) -> SqlText:
        """All that is left of the statement, with balanced brackets; the pipe `->>` begins another one."""
        return self.until("->>")

    def inside(self) -> SqlText:
        """The text between the parenthesis that comes next and the one that closes it."""
        self.expect("(")
        text = self.until()
        self.expect(")")
        return text

    def skip_parenthesised(self) -> SqlText:
        """Takes parentheses with what is in them, which may be nothing."""
        start = self.index
        self.expect("(")
        if not self.at(")"):
            self.until()
        self.expect(")")
        return self.since(start)

    def expression_list(self) -> tuple[SqlText, ...]:
        """`(e1, e2, …)`; `()` is empty."""
        self.expect("(")
        if self.match(")"):
            return ()
        found = [self.until(",")]
        while self.match(","):
            found.append(self.until(","))
        self.expect(")")
        return tuple(found)

    def type_text(self) -> SqlText:
        """A data type as written, with its arguments."""
        start = self.index
        if not self.at_kind(TokenKind.WORD):
            raise self.unexpected()
        word = self.advance().word
        any(self.match(*tail) for tail in _TYPE_TAILS.get(word, ()))
        if self.at("("):
            self.skip_parenthesised()
        # TIMESTAMP(9) WITH TIME ZONE
        if word == "TIMESTAMP":
            any(self.match(*tail) for tail in _TYPE_TAILS[word])
        return self.since(start)
