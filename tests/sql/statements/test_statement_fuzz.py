"""No text makes the parser crash or hang: it gives a statement or a `SnowmeltError`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements
from tests.sql.statements.test_statement_examples import EXAMPLES, blocks

STATEMENTS = [sql for path in EXAMPLES for sql, _ in blocks(path)]
WORDS = sorted({word for sql in STATEMENTS for word in sql.split()})
LIMIT = 120.0
"""Seconds, for the long texts below. They take about one on an idle machine; a busy one must not fail."""


def check(text: str) -> None:
    try:
        classify(parse_statement(text))
    except SnowmeltError as error:
        assert error.code != "300002", error
    try:
        pieces = split_statements(text)
    except SnowmeltError:
        return
    for piece in pieces:
        assert piece.text in text
        assert piece.line >= 1
        assert piece.column >= 0


@given(st.text())
@settings(max_examples=500, deadline=None)
def test_arbitrary_text(text: str) -> None:
    check(text)


@given(st.text(alphabet="abB1 \n\t'\"$;:.,()[]{}@%~/*-+=<>\\`#!?|&é\0", max_size=60))
@settings(max_examples=1000, deadline=None)
def test_text_of_special_characters(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=15))
@settings(max_examples=1000, deadline=None)
def test_words_in_any_order(words: list[str]) -> None:
    check(" ".join(words))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement with some pieces cut, doubled, or taken from another one."""
    text = draw(st.sampled_from(STATEMENTS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        other = draw(st.sampled_from(["", text[start:end] * 2, *WORDS[:1], draw(st.sampled_from(WORDS))]))
        text = text[:start] + other + text[end:]
    return text


@given(mutated())
@settings(max_examples=2000, deadline=None)
def test_mutated_statements(text: str) -> None:
    check(text)


def test_truncated_statements() -> None:
    for sql in STATEMENTS:
        words = sql.split(" ")
        for count in range(len(words)):
            check(" ".join(words[:count]))
    for sql in STATEMENTS[::7]:
        for end in range(len(sql)):
            check(sql[:end])


MANY = 10_000
LONG = {
    "parentheses": "select " + "(" * MANY + "1" + ")" * MANY,
    "open parentheses": "select " + "(" * MANY,
    "closing parentheses": "select " + ")" * MANY,
    "leading parentheses": "(" * MANY + "select 1" + ")" * MANY,
    "type": "create table t (a " + "array(" * MANY + "int" + ")" * MANY + ")",
    "default": "create table t (a int default " + "(" * MANY + "1" + ")" * MANY + ")",
    "check": "alter table t add check (" + "(" * MANY + "1" + ")" * MANY + ")",
    "cases": "update t set a = " + "case when " * MANY + "1" + " end" * MANY,
    "blocks": "begin " * MANY + "return 1;" + " end;" * MANY,
    "open blocks": "begin " * MANY,
    "ifs": "begin " + "if (a) then " * MANY + "x := 1;" + " end if;" * MANY + " end",
    "explains": "explain " * MANY + "select 1",
    "columns": "create table t (" + ", ".join(f"c{i} int" for i in range(MANY)) + ")",
    "rows": "insert into t values " + ", ".join(f"({i}, 'x''{i}')" for i in range(MANY)),
    "statements": "select 1;" * MANY,
    "creates": "create procedure x;" * MANY,
    "clauses": "merge into t using s on a " + "when matched then delete " * MANY,
    "names": "drop table " + "a." * MANY + "b",
    "options": "create warehouse w " + "with " * MANY,
    "modifiers": "create " + "temporary " * MANY + "table t (a int)",
    "digits": "show tables limit " + "9" * MANY,
    "quotes": "select " + "'" * (2 * MANY),
    "dollars": "select " + "$" * (2 * MANY + 1),
    "comments": "/*" * MANY,
    "slashes": "list @s" + "/" * MANY,
    "files": "put " + "file://" * MANY,
    "stage quotes": "list '@" + '"' * MANY + "'",
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_take_little_time(name: str) -> None:
    start = time.perf_counter()
    check(LONG[name])
    assert time.perf_counter() - start < LIMIT


@pytest.mark.parametrize("name", ["parentheses", "type", "default", "check", "cases", "blocks", "ifs", "rows"])
def test_deep_nesting_is_kept(name: str) -> None:
    parse_statement(LONG[name])
