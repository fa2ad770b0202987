"""What is known of a policy while it is bound, and which queries need no barrier."""

from __future__ import annotations

import pytest
from sqlglot import exp

from snowmelt.sql.decided import decided, reduced, undecided
from snowmelt.sql.dialect import spark
from snowmelt.sql.quiet import is_quiet, is_quiet_condition

DECIDED = {
    "true": True,
    "NOT false": True,
    "'A' = 'A'": True,
    "'A' = 'B'": False,
    "('A') <> 'B'": True,
    "'A' IN ('B', 'A')": True,
    "'A' IN ('B', 'C')": False,
    "'A' IN ('B', x)": None,
    "x = 'A' AND 'A' = 'B'": False,
    "x = 'A' AND 'A' = 'A'": None,
    "x = 'A' OR 'A' = 'A'": True,
    "x = 'A' OR 'A' = 'B'": None,
    "CASE WHEN 'A' = 'B' THEN true ELSE false END": False,
    "CASE WHEN x = 1 THEN true ELSE false END": None,
    "if('A' = 'A', true, x)": True,
    "1 = 1": None,
    "'A' = 'a'": False,
    "null": None,
    "'A' = null": None,
}


@pytest.mark.parametrize("text", DECIDED)
def test_decided(text: str) -> None:
    assert decided(spark(text)) is DECIDED[text]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("CASE WHEN 'A' = 'A' THEN x ELSE 'm' END", "x"),
        ("CASE WHEN 'A' = 'B' THEN x WHEN 'A' = 'C' THEN y ELSE 'm' END", "'m'"),
        ("CASE WHEN 'A' = 'B' THEN x END", "NULL"),
        ("if('A' = 'B', x, if('A' = 'A', y, z))", "y"),
        ("CASE WHEN y = 1 THEN x ELSE 'm' END", "CASE WHEN y = 1 THEN x ELSE 'm' END"),
    ],
)
def test_reduced(text: str, left: str) -> None:
    assert reduced(spark(text)).sql("spark") == left


def test_what_is_left_of_a_condition() -> None:
    assert undecided(spark("'A' = 'B' OR (x = 1 AND 'A' = 'A')")).sql("spark") == "x = 1"


QUIET = {
    "SELECT a.x / 0 FROM t AS a WHERE a.x = 1": True,
    "SELECT sum(cast(a.x as int)) FROM t AS a GROUP BY a.y HAVING sum(cast(a.x as int)) > 3": True,
    "SELECT 1 FROM t AS a WHERE cast(a.x as int) = 1": False,
    "SELECT 1 FROM t AS a WHERE cast(a.x as string) = 'a'": True,
    "SELECT 1 FROM t AS a WHERE a.x = cast('1' as int)": True,
    "SELECT b.n FROM (SELECT cast(a.x as int) AS n FROM t AS a) AS b": False,
    "SELECT (SELECT max(cast(a.x as int)) FROM t AS a WHERE a.y / 0 = 1) AS m": False,
    "SELECT 1 FROM t AS a JOIN u AS b ON a.x + 1 = b.x": False,
    "SELECT a.x FROM t AS a UNION ALL SELECT a.x / 0 FROM t AS a": True,
    "SELECT a.x FROM t AS a ORDER BY a.x / 0": False,
    "WITH c AS (SELECT 1 / a.x AS n FROM t AS a) SELECT n FROM c": False,
    "SELECT 1 FROM (SELECT a.x FROM t AS a WHERE a.x / 0 = 1) AS b": False,
    "SELECT 1 FROM (SELECT g.x / 0 AS x FROM t AS g WHERE g.x / 0 = 1) AS b WHERE b.x = 1": True,
}
"""The alias `g` is that of what has policies."""


@pytest.mark.parametrize("text", QUIET)
def test_quiet(text: str) -> None:
    tree = spark(text)
    assert isinstance(tree, exp.Query)
    assert is_quiet(tree, "g") is QUIET[text]


def test_quiet_conditions() -> None:
    assert is_quiet_condition(spark("a.x = 1 AND a.y IN (1, 2)"))
    assert not is_quiet_condition(spark("a.x = 1 AND 1 / a.y = 2"))
