"""No word of a query is lost between its text and its tree.

`test_node_arguments` shows that binding reads all of a tree. This shows that the tree has all of the text: a word that
is put into a query must make it an error or another tree. The few words that mean nothing are listed, with where they
stand.
"""

from __future__ import annotations

import inspect
import logging
import random
import re
from collections.abc import Iterator
from functools import cache

import pytest
from sqlglot import exp, parser, tokens
from sqlglot.parsers import snowflake

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.dialect import parse_snowflake
from tests.sql.test_node_arguments import SAMPLES

VALUES = ["zz", "'zz'", "7", "(7)", "[7]", "{'k': 7}", "zz.z", "zz(7)", "::INT", ":k", "(+)"]
"""What is no word of the grammar and may be lost as well."""
MEANS_NOTHING = {
    "ALL": r"(SELECT|\(|,)$",
    "ARRAY": r"(SELECT|\(|,)$",
    "AS": r"\)$",
    "ASC": r".*$",
    "ASYMMETRIC": r"BETWEEN$",
    "BY": r"OFFSET \d+$",
    "DISTINCT": r"(UNION|EXCEPT|INTERSECT)$",
    "ONLY": r"LIMIT \d+$",
    "PERCENT": r"SAMPLE SYSTEM \(\d+$",
    "ROW": r"OFFSET \d+$",
    "ROWS": r"OFFSET \d+$",
}
"""Words that say what holds without them, by what stands before them."""
LOOSE = {
    ":k": r"(\w+ \(|, |INPUT|PATH|OUTER|\()\w*$",
    "ASOF": r"FROM \w+$",
    "COLLATE": r"AS [^()]+(\([^()]*\))?$",
    "DEFAULT": r"AS [^()]+(\([^()]*\))?$",
    "FORMAT": r"(AS [^()]+(\([^()]*\))?|,|FROM)$",
    "PARTITIONED_BY": r"OVER \($",
    "SEARCH": r"\)$",
}
"""Words that begin a part which is refused when it is there, and change nothing alone."""


def words() -> list[str]:
    """All that sqlglot's grammar knows."""
    found: set[str] = set()
    for module in (parser, snowflake):
        for call in re.finditer(r"_match_(?:text_seq|texts)\(([^)]*)\)", inspect.getsource(module)):
            found.update(re.findall(r'"([A-Z_]+)"', call[1]))
    for keyword in tokens.Tokenizer.KEYWORDS:
        if re.fullmatch(r"[A-Z_ ]+", keyword):
            found.update(keyword.split())
    return [*sorted(found), *VALUES]


def cases() -> Iterator[tuple[str, int, str]]:
    known = words()
    for query in SAMPLES:
        for end in (match.end() for match in re.finditer(r"'[^']*'|\w+|\S", query)):
            for word in known:
                yield query, end, word


@cache
def parsed(query: str) -> exp.Expr:
    return parse_snowflake(query)


def lost(query: str, end: int, word: str) -> bool:
    before = query[:end]
    if any(word in known and re.search(known[word], before) for known in (MEANS_NOTHING, LOOSE)):
        return False
    try:
        return parse_snowflake(f"{before} {word} {query[end:]}") == parsed(query)
    except SnowmeltError:
        return False


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """sqlglot warns of each statement that it does not know."""
    caplog.set_level(logging.ERROR, logger="sqlglot")


def test_some_words_in_some_places() -> None:
    chosen = random.Random(7).sample(list(cases()), 1500)
    assert [case for case in chosen if lost(*case)] == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT y {'a': x} FROM t", "SELECT 5 {'a': x} FROM t", "SELECT v:a {'b': 1} FROM t",
        "SELECT x, y FROM t GROUP BY ALL x", "SELECT x FROM t GROUP BY DISTINCT ROLLUP (x), ROLLUP (x)",
        "SELECT * EXCLUDE FROM t", "SELECT * RENAME FROM t", "SELECT * REPLACE FROM t", "SELECT x AS FROM t",
        "SELECT AS x FROM t", "SELECT 1 FROM t, JOIN u", "SELECT 1 FROM t CROSS JOIN u ON",
        "SELECT 1 FROM t JOIN u USING",
        "SELECT x FROM t ORDER BY x ASC DESC", "SELECT x FROM t NATURAL UNION SELECT 1",
        "SELECT 1 FROM t JOIN u USING (x (+))", "SELECT FILTER(v, e -> e (+) > 1) FROM t",
        "WITH a AS (SELECT 1), WITH b AS (SELECT 2) SELECT 3", "WITH RECURSIVE AS a AS (SELECT 1) SELECT 3",
        "SELECT value FROM TABLE(FLATTEN(INPUT INT => v))",
    ],
)  # fmt: skip
def test_what_was_lost_once(query: str) -> None:
    with pytest.raises(SnowmeltError, match=r"001003|000002"):
        parse_snowflake(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t.x AS a, v:as, v:on.using FROM t AS q (a, b)", "SELECT {'a': {'b': [{'c': x}]}}, f({'a': 1}) FROM t",
        "SELECT x, y, COUNT(*) FROM t GROUP BY ALL ORDER BY ALL", "SELECT * EXCLUDE x RENAME y AS z FROM t",
        "SELECT TRANSFORM(v, e INT -> e + 1), REDUCE(v, 0, (a INT, e INT) -> a + e) FROM t",
        "SELECT asof, format FROM t ORDER BY x ASC, y DESC", "SELECT x FROM t NATURAL JOIN u JOIN w USING (x)",
    ],
)  # fmt: skip
def test_what_only_looks_like_it(query: str) -> None:
    parse_snowflake(query)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_words_in_all_places() -> None:
    assert [case for case in cases() if lost(*case)] == []
