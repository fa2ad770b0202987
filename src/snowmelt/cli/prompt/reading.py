"""Where what somebody types ends."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.tokens import TokenKind, statement_end, tokenize

_BARE = frozenset({"exit", "quit", "help"})
"""Commands that need no `!` in front of them, as in the prompts of others."""


def is_command(text: str) -> bool:
    """Whether it is for the prompt itself: `!set …`, `\\d …`, `help`."""
    stripped = text.strip()
    return stripped.startswith(("!", "\\")) or stripped.rstrip(";").rstrip().lower() in _BARE


def is_whole(text: str) -> bool:
    """Whether Enter ends it: nothing, a command, or statements of which the last one has its `;`.

    A `;` within a string, a comment, a `$$` body or a BEGIN … END block ends nothing.
    """
    if not text.strip() or is_command(text):
        return True
    try:
        tokens = tokenize(text).tokens
    except SnowmeltError:
        # A string, a comment or a body is still open.
        return False
    index = 0
    while tokens[index].kind is not TokenKind.END:
        if tokens[index].word == ";":
            index += 1
            continue
        index = statement_end(tokens, index)
        if tokens[index].kind is TokenKind.END:
            return False
    return len(tokens) > 1
