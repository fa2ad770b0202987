"""Splitting scripts: semicolons that separate, and those that do not."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql import tokens
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText, split_statements
from tests.sql.statements.test_statement_examples import EXAMPLES, blocks

WHOLE = [
    "select 1",
    "select ';' as \"a;b\", $$ ; $$ -- ;\n, 2 /* ; */ // ;\n + 3",
    r"select 'it\'s; ok', 'it''s; ok'",
    "begin",
    "begin transaction",
    "begin work",
    "begin name x",
    "begin transaction name x",
    "begin select 1; select 2; end",
    "begin begin transaction; insert into t values (1); commit; end",
    "begin if (a) then b := 1; elseif (c) then d := 2; else e := 3; end if; end",
    "begin for x in c do y := x.a; end for; while (z) do z := false; end while; end",
    "begin for i in 1 to 3 loop x := 1; end loop; loop break; end loop; end",
    "begin repeat x := 2; until (x > 3) end repeat; return x; end",
    "begin case (x) when 1 then y := 1; when 2 then begin y := 2; end; else y := 3; end case; end",
    "begin x := case when a then 1 else 2 end; return case b when 1 then 'x' end; end",
    "begin select case when a then repeat('x', 3) end; end",
    "begin select t.end, t.begin, t.case, start_ as end from t; end",
    "begin begin begin return 1; end; end; exception when other then return sqlerrm; end",
    "begin drop table if exists t; create table if not exists t (a int); end",
    "begin alter warehouse w resume if suspended; return 1; end",
    "begin let c cursor for select 1; open c; return (select count(*) from t); end",
    "declare x int default 1; c cursor for select 1; begin return x; end",
    "declare p procedure () returns int as begin return 1; end; begin call p(); end",
    "create procedure p() returns int language sql as begin return 1; end",
    "create or replace procedure p() returns int as declare x int; begin if (x) then return 1; end if; end",
    "create procedure p() returns int as $$ begin return 1; end; $$",
    "create task t schedule = '1 minute' as begin insert into t values (1); select 2; end",
    "create alert a if (exists (select 1)) then begin call p(); end",
    "create table t (a int)",
    "put file:///tmp/*.csv @s",
    "select 1 as begin_",
    "create view end_ as select 1",
]


def texts(script: str) -> list[str]:
    return [statement.text for statement in split_statements(script)]


@pytest.mark.parametrize("statement", WHOLE)
def test_one_statement_stays_whole(statement: str) -> None:
    assert texts(statement) == [statement]
    assert texts(f"  ;; -- x;\n{statement} ; /* y; */ ;") == [statement]


@given(st.lists(st.sampled_from(WHOLE), max_size=8), st.sampled_from([";", " ; ", ";\n-- x;\n", ";;/* ; */\n"]))
def test_joined_statements_come_back(statements: list[str], separator: str) -> None:
    script = separator.join(statements) + separator
    assert texts(script) == statements


@given(st.lists(st.sampled_from([sql for path in EXAMPLES for sql, _ in blocks(path)]), max_size=6))
def test_joined_examples_come_back(statements: list[str]) -> None:
    """Each example, a wrong one too, splits in company as it does alone, unless it leaves something open."""
    closed = []
    for sql in statements:
        try:
            closed.append(texts(sql))
        except SnowmeltError:
            continue
    script = ";\n".join(text for alone in closed for text in alone)
    assert texts(script) == [text for alone in closed for text in alone]


def test_places_are_those_in_the_script() -> None:
    script = "-- first\nselect 1;  select\n  2;\n\tselect 3"
    assert [(item.line, item.column) for item in split_statements(script)] == [(2, 0), (2, 11), (4, 1)]


def test_errors_point_into_the_script() -> None:
    statement = split_statements("select 1;\n  create table t (a int,\n b)")[1]
    with pytest.raises(SnowmeltError, match="line 3 at position 2 unexpected '\\)'"):
        parse_statement(statement)


def test_pieces_of_a_statement_know_their_place() -> None:
    statement = parse_statement(SqlText("insert into t\n select 1", line=5, column=4))
    source = statement.source  # type: ignore[attr-defined]
    assert (source.text, source.line, source.column) == ("select 1", 6, 1)


@pytest.mark.parametrize(
    ("script", "line", "position"),
    [
        ("select 1;\n select 'x", 2, 8),
        ('select "x', 1, 7),
        ("select 1 /* x", 1, 9),
        ("select $$ x", 1, 7),
        ("select 'a' -- 'b\n, 'c", 2, 2),
    ],
)
def test_what_is_left_open_is_a_syntax_error(script: str, line: int, position: int) -> None:
    with pytest.raises(SnowmeltError) as raised:
        split_statements(script)
    assert raised.value.code == "001003"
    assert f"syntax error line {line} at position {position} unexpected" in raised.value.message


def test_an_unclosed_block_reaches_to_the_end() -> None:
    assert texts("select 1; begin select 2; select 3;") == ["select 1", "begin select 2; select 3;"]


@pytest.mark.parametrize("script", ["", " ", ";", ";;", "-- x", "/* x */ ; // y"])
def test_nothing_is_no_statement(script: str) -> None:
    assert texts(script) == []


@given(
    st.lists(
        st.sampled_from([*"a1 \n\t;'\"$\\/-*()@:=é", "--", "//", "/*", "*/", "''", "SELECT ", "BEGIN", "END"]),
        max_size=12,
    )
)
@example(["SELECT ", "'", ";", "--", "'", "a"])
@example(["SELECT ", "1", "/", "/", "*"])
def test_what_is_plainly_one_statement_is_what_its_tokens_say(parts: list[str]) -> None:
    text = "".join(parts)
    quick = _outcome(text)
    with mock.patch.object(tokens, "_SHORT", -1):
        assert quick == _outcome(text)


def _outcome(text: str) -> object:
    try:
        return [(one.text, one.line, one.column, one.around) for one in split_statements(text)]
    except SnowmeltError as error:
        return error.message
