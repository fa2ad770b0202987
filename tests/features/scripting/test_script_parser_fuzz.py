"""No text makes the parser of blocks crash or hang: it gives a block or a `SnowmeltError`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.scripting.check import check
from snowmelt.sql.scripting.parser import parse_block, parse_body
from snowmelt.sql.tokens import SqlText

BLOCKS = [
    "BEGIN LET x := 1; x := x + 1; RETURN x; END",
    "DECLARE x INT DEFAULT 0; c CURSOR FOR SELECT a FROM t WHERE b = ?; e EXCEPTION (-20001, 'm'); "
    "rs RESULTSET DEFAULT (SELECT 1); BEGIN OPEN c USING (x); FETCH c INTO x; CLOSE c; RETURN TABLE(rs); END;",
    "BEGIN IF (a > 1) THEN b := 2; ELSEIF (a < 0) THEN NULL; ELSE b := 3; END IF; END",
    "BEGIN CASE (x) WHEN 1 THEN RETURN 1; ELSE RETURN 2; END CASE; CASE WHEN a THEN NULL; END; END",
    "BEGIN FOR i IN REVERSE 1 TO 10 DO INSERT INTO t VALUES (:i); END FOR lbl; FOR r IN c DO CONTINUE; END FOR; END",
    "BEGIN WHILE (x < 3) LOOP BREAK; END LOOP; REPEAT x := 1; UNTIL (x = 1) END REPEAT; LOOP EXIT a; END LOOP a; END",
    "BEGIN SELECT a, b INTO :x, :y FROM t WHERE c = 1; BEGIN TRANSACTION; COMMIT; EXECUTE IMMEDIATE :q USING (a); END",
    "DECLARE p PROCEDURE (a INT DEFAULT 1) RETURNS INT AS BEGIN RETURN a; END; BEGIN CALL p(1) INTO :x; END",
    "BEGIN SELECT 1; EXCEPTION WHEN e OR statement_error THEN RAISE; WHEN OTHER CONTINUE THEN RETURN SQLERRM; END",
    "BEGIN CREATE PROCEDURE q() RETURNS INT AS BEGIN RETURN 1; END; x := CASE WHEN a THEN 1 END; RETURN v:a[0]; END",
]
WORDS = sorted({word for block in BLOCKS for word in block.split()})
LIMIT = 120.0
"""Seconds, for the long texts below. They take about one on an idle machine; a busy one must not fail."""


def examine(text: str) -> None:
    for parse in (parse_block, parse_body):
        try:
            check(parse(SqlText(text)), ("X", "A"))
        except SnowmeltError as error:
            assert error.code != "300002", error


def test_the_examples_are_blocks() -> None:
    for text in BLOCKS:
        parse_block(SqlText(text))


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_arbitrary_text_in_a_block(text: str) -> None:
    examine(f"BEGIN {text}; END")


@given(st.lists(st.sampled_from(WORDS), max_size=15))
@settings(max_examples=500, deadline=None)
def test_words_of_scripts_in_any_order(words: list[str]) -> None:
    examine(" ".join(words))
    examine(f"BEGIN {' '.join(words)} END")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A block with some pieces cut, doubled, or taken from another one."""
    text = draw(st.sampled_from(BLOCKS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = (
            text[:start] + draw(st.sampled_from(["", text[start:end] * 2, draw(st.sampled_from(WORDS))])) + text[end:]
        )
    return text


@given(mutated())
@settings(max_examples=1000, deadline=None)
def test_mutated_blocks(text: str) -> None:
    examine(text)


def test_truncated_blocks() -> None:
    for text in BLOCKS:
        for end in range(len(text)):
            examine(text[:end])


MANY = 5_000
LONG = {
    "blocks": "BEGIN " * MANY + "NULL; " + "END; " * MANY,
    "open blocks": "BEGIN " * MANY,
    "ifs": "BEGIN " + "IF (a) THEN " * MANY + "NULL; " + "END IF; " * MANY + "END",
    "open ifs": "BEGIN " + "IF (a) THEN " * MANY,
    "loops": "BEGIN " + "LOOP " * MANY + "NULL; " + "END LOOP; " * MANY + "END",
    "statements": "BEGIN " + "x := x + 1; " * MANY + "END",
    "declarations": "DECLARE " + "x INT; " * MANY + "BEGIN NULL; END",
    "handlers": "BEGIN NULL; EXCEPTION " + "WHEN OTHER THEN NULL; " * MANY + "END",
    "branches": "BEGIN IF (a) THEN NULL; " + "ELSEIF (a) THEN NULL; " * MANY + "END IF; END",
    "parentheses": "BEGIN RETURN " + "(" * MANY + "1" + ")" * MANY + "; END",
    "cases": "BEGIN RETURN " + "CASE WHEN a THEN " * MANY + "1" + " END" * MANY + "; END",
    "concatenation": "BEGIN RETURN " + "'a' || " * MANY + "'b'; END",
    "targets": "BEGIN SELECT 1 INTO " + ":a, " * MANY + ":b; END",
    "queries": "BEGIN FOR r IN (" * 50 + "SELECT 1",
    "procedures": "DECLARE " + "p PROCEDURE () RETURNS INT AS BEGIN NULL; END; " * 500 + "BEGIN NULL; END",
    "nested procedures": "DECLARE p PROCEDURE () RETURNS INT AS " * 500,
}


@pytest.mark.parametrize("name", LONG)
def test_long_blocks_take_little_time(name: str) -> None:
    start = time.perf_counter()
    examine(LONG[name])
    assert time.perf_counter() - start < LIMIT
