"""Words that lack what belongs beside them: `SELECT a AS FROM t`, `t, JOIN u`, `ORDER BY a ASC DESC`.

sqlglot reads over them and notes nothing in the tree, so that `node_arguments` can't see them. They are found in the
tokens. `tests/sql/test_swallowed_words.py` puts every word of sqlglot's grammar into every place of sample queries: a
tree that stays the same has lost the word.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

_ENDS = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON, None})
_SETS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_NOT_BEFORE: dict[TokenType, frozenset[TokenType | None]] = {
    TokenType.ALIAS: _ENDS | {TokenType.FROM, TokenType.SELECT, TokenType.R_BRACKET},
    TokenType.ON: _ENDS,
    TokenType.USING: _ENDS,
    TokenType.CONSTRAINT: _ENDS,
    TokenType.NATURAL: _ENDS | _SETS,
}
"""Reserved words, and what must not come right behind each: it says that nothing does."""
_NOT_BEHIND: dict[TokenType, frozenset[TokenType]] = {
    TokenType.ALIAS: frozenset(
        {
            TokenType.SELECT,
            TokenType.DISTINCT,
            TokenType.COMMA,
            TokenType.L_PAREN,
            TokenType.WITH,
            TokenType.RECURSIVE,
        }
    ),
    TokenType.JOIN: frozenset({TokenType.COMMA}),
    TokenType.WITH: frozenset({TokenType.COMMA}),
    TokenType.BETWEEN: frozenset({TokenType.BETWEEN, TokenType.AND}),
    TokenType.DESC: frozenset({TokenType.ASC}),
    TokenType.ASC: frozenset({TokenType.DESC}),
}
"""Reserved words, and what must not stand right before each."""
_WATCHED = _NOT_BEFORE.keys() | _NOT_BEHIND.keys()


def refuse_loose_words(tokens: Sequence[Token]) -> None:
    """Raises sqlglot's ParseError at the first one."""
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind not in _WATCHED:
            continue
        before = tokens[index - 1].token_type if index else None
        after = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        # Behind a dot it is the name of a column, or a key of an object.
        if before in (TokenType.DOT, TokenType.COLON):
            continue
        if after in _NOT_BEFORE.get(kind, ()) or before in _NOT_BEHIND.get(kind, ()):
            raise unexpected(token)


def outer_marks(tokens: Sequence[Token]) -> list[Token]:
    """Each `(+)`."""
    return [token for token in tokens if token.token_type is TokenType.JOIN_MARKER]


_SKIP_TO = ("AFTER", "MATCH", "SKIP", "TO")
_TARGETS = ("NEXT", "FIRST", "LAST")


def with_last(tokens: list[Token]) -> list[Token]:
    """With the word LAST in AFTER MATCH SKIP TO symbol, which means that, and which sqlglot needs there."""
    found = list(tokens)
    for index in range(len(found) - len(_SKIP_TO) - 1, -1, -1):
        behind = index + len(_SKIP_TO)
        words = tuple(token.text.upper() for token in found[index:behind])
        if words == _SKIP_TO and found[behind].text.upper() not in _TARGETS:
            symbol = found[behind]
            found.insert(behind, Token(TokenType.VAR, "LAST", symbol.line, symbol.col, symbol.start, symbol.end))
    return found


def unexpected(token: Token) -> ParseError:
    message = f"Unexpected '{token.text}'"
    return ParseError.new(message, description=message, line=token.line, col=token.col, highlight=token.text)
