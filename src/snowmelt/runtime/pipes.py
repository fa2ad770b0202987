"""`statement ->> statement`: each reads the results of those before it as `$1`, the last one's, `$2`, ….

Every statement of the chain runs and is recorded as one of its own; `FROM $1` is RESULT_SCAN of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from snowmelt.core import errors
from snowmelt.runtime.results import Result
from snowmelt.sql.tokens import SqlText, TokenKind, starts_block, tokenize

PIPE = "->>"
_BODIES = ("CREATE", "ALTER")


def chained(sql: SqlText) -> list[SqlText]:
    """The statements of a chain; the text alone if it is none, or the body of something that runs later."""
    source = tokenize(sql)
    tokens = source.tokens
    if tokens[0].word in _BODIES or starts_block(tokens, 0):
        return [sql]
    pipes = [
        token
        for token, after in pairwise(tokens)
        if token.word == PIPE and (after.kind is TokenKind.WORD or after.word == "(")
    ]
    starts = [0, *[pipe.end for pipe in pipes]]
    ends = [*[pipe.start for pipe in pipes], len(sql.text)]
    return [source.piece(start, end) for start, end in zip(starts, ends, strict=True)] if pipes else [sql]


def over_results(sql: SqlText, query_ids: Sequence[str]) -> SqlText:
    """The statement with `$n` behind FROM and JOIN replaced by the n-th result before it."""
    tokens = tokenize(sql).tokens
    pieces: list[str] = []
    done = 0
    for before, dollar, number in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.word not in ("FROM", "JOIN") or dollar.text != "$" or number.kind is not TokenKind.NUMBER:
            continue
        back = int(number.text)
        if not 1 <= back <= len(query_ids):
            raise errors.compilation(
                "001003", "42000", f"${back}: there are {len(query_ids)} statement(s) before this one in the chain."
            )  # fmt: skip
        pieces += [sql.text[done : dollar.start], f"TABLE(RESULT_SCAN('{query_ids[-back]}'))"]
        done = number.end
    return replace(sql, text="".join(pieces) + sql.text[done:], around=sql.text) if pieces else sql


def execute_chain(
    statements: Sequence[SqlText], execute: Callable[[SqlText, str | None], Result], query_id: str | None
) -> Result:
    """Runs statements that read each other's results. The last one has the id that was asked for."""
    *first, last = statements
    found: list[str] = []
    for statement in first:
        found.append(execute(over_results(statement, found), None).query_id)
    return execute(over_results(last, found), query_id)
