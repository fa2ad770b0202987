"""No word of a statement is lost between its text and what it was parsed to.

A word that is put into a statement must make it an error or another statement. The few words that may stand there and
change nothing are listed. `tests/sql/test_swallowed_words.py` shows the same of queries.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

import pytest

from snowmelt.sql.tokens import tokenize
from tests.sql.statements.rendering import outcome
from tests.sql.statements.test_statement_examples import EXAMPLES, blocks

STATEMENTS = [
    sql for path in EXAMPLES for sql, said in blocks(path) if not said.startswith("error") and "--" not in sql
]
PHRASES = [
    "zz", "'zz'", "7", "(7)", "(zz)", "zz.z", "=", "= 7", ",", "( )", "IF EXISTS", "IF NOT EXISTS", "OR REPLACE",
    "COPY GRANTS", "NOT NULL", "::INT", "$1", "FORCE",
]  # fmt: skip
MEANS_NOTHING = {
    "=": r"\b(comment|start|with|by|increment)\s*$",
    ",": r"\b(alter|create|copy|put)\b",
    "WITH": r"\bcreate\b",
    "CASCADE": r"\bdrop\b",
    "RESTRICT": r"\b(drop|revoke)\b",
    "NOT NULL": r"\b(create|alter)\b",
    "NULL": r"\b(create|alter)\b",
    "IF EXISTS": r"\bdrop\b",
    "COPY GRANTS": r"\bcreate\b",
    "(zz)": r"\bdrop primary key\b",
    **dict.fromkeys(
        ("DISABLE", "ENABLE", "RELY", "NORELY", "VALIDATE", "NOVALIDATE", "DEFERRABLE", "ENFORCED"),
        r"\b(create|alter)\b",
    ),
    **dict.fromkeys(("ASC", "AS", "TRANSACTION", "WORK", "COLUMN", "ROWS", "ROW"), r"."),
}
"""Words that say what holds without them, by what stands somewhere before them."""


def words() -> list[str]:
    return [*PHRASES, *sorted({word.upper() for sql in STATEMENTS for word in re.findall(r"[A-Za-z_]{2,}", sql)})]


@cache
def plain(sql: str) -> str:
    return outcome(sql)


def cases(known: list[str]) -> Iterator[tuple[str, int, str]]:
    for sql in STATEMENTS:
        for end in sorted({token.end for token in tokenize(sql).tokens if token.end}):
            for word in known:
                yield sql, end, word


def lost(sql: str, end: int, word: str) -> bool:
    if word in MEANS_NOTHING and re.search(MEANS_NOTHING[word], sql[:end], re.IGNORECASE):
        return False
    return outcome(f"{sql[:end]} {word} {sql[end:]}") == plain(sql)


def test_some_words_in_some_places() -> None:
    chosen = random.Random(11).sample(list(cases(words())), 1_500)
    assert [case for case in chosen if lost(*case)] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_phrases_in_all_places() -> None:
    assert [case for case in cases(PHRASES) if lost(*case)] == []
