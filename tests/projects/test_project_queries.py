"""What is known of a query without a catalog."""

from __future__ import annotations

import pytest

from snowmelt.projects.queries import calls_in, columns_in
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.reads import tables_in

COLUMNS = {("T",): ["A", "B"], ("DB", "S", "U"): ["C"]}


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT * FROM t", {("T",)}),
        ('SELECT * FROM t JOIN db.s."u" x ON 1 = 1', {("T",), ("DB", "S", "u")}),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", {("T",)}),
        ("WITH a AS (SELECT 1 AS x), b AS (SELECT * FROM a) SELECT * FROM b, c", {("C",)}),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", set()),
        ("SELECT (SELECT MAX(a) FROM u) FROM t WHERE EXISTS (SELECT 1 FROM v)", {("T",), ("U",), ("V",)}),
        ("SELECT f.value FROM t, LATERAL FLATTEN(input => t.a) f", {("T",)}),
        ("SELECT * FROM t UNION SELECT * FROM (WITH z AS (SELECT 1) SELECT * FROM z, y)", {("T",), ("Y",)}),
    ],
)
def test_tables(query: str, tables: set[tuple[str, ...]]) -> None:
    assert tables_in(parse_snowflake(query)) == tables


def test_calls() -> None:
    query = "SELECT twice(a), db.s.thrice(a), COUNT(*) FROM t"
    assert {("TWICE",), ("DB", "S", "THRICE")} <= calls_in(parse_snowflake(query))
    assert calls_in(parse_snowflake("s.q.NEXTVAL")) == {("S", "Q")}


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT a, b + 1 AS c FROM t", ["A", "C"]),
        ("SELECT * FROM t", ["A", "B"]),
        ('SELECT x.*, u.c AS "d" FROM t x JOIN db.s.u ON 1 = 1', ["A", "B", "d"]),
        ("WITH w AS (SELECT a AS q FROM t) SELECT * FROM w UNION ALL SELECT 1", ["Q"]),
        ("WITH w (k) AS (SELECT 1) SELECT * FROM w", ["K"]),
        ("SELECT * FROM (SELECT * FROM t) s", ["A", "B"]),
        ("SELECT a + 1 FROM t", None),
        ("SELECT * FROM elsewhere", None),
        ("SELECT * FROM t JOIN t AS s USING (a)", None),
        ("SELECT * EXCLUDE a FROM t", None),
    ],
)
def test_columns(query: str, columns: list[str] | None) -> None:
    assert columns_in(parse_snowflake(query), COLUMNS.get) == columns
