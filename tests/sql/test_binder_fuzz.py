"""Whatever text comes in, the translator answers with Spark SQL or with an error of ours."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.no_relations import NoRelations
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel


class OneTable(NoRelations):
    """Knows a table T with a column of every type."""

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        if parts[-1] != "T":
            raise errors.not_found("Object", parts[-1])
        columns = tuple(
            RelationColumn(name, type_)
            for name, type_ in {
                "I": types.INTEGER, "N": types.number(10, 2), "F": types.FLOAT, "S": types.VARCHAR, "B": types.BINARY,
                "O": types.BOOLEAN, "D": types.DATE, "M": types.TIME, "TS": types.TIMESTAMP_NTZ,
                "TL": types.TIMESTAMP_LTZ, "TZ": types.TIMESTAMP_TZ, "V": types.VARIANT, "J": types.OBJECT,
                "A": types.ARRAY, "K": types.with_collation(types.VARCHAR, "en-ci"),
                "U": types.with_collation(types.VARCHAR, "upper-trim"),
            }.items()
        )  # fmt: skip
        return Relation("T", columns, reference="t_1")


ENVIRONMENT = Environment(OneTable(), SessionContext(now=datetime(2026, 1, 1, tzinfo=UTC)))
QUERIES = (
    "SELECT i, SUM(n) OVER (PARTITION BY s ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t QUALIFY 1 = 1",
    "WITH c AS (SELECT v:a.b[0]::INT AS x, * EXCLUDE (v) FROM t) "
    "SELECT x, COUNT(DISTINCT s) FROM c GROUP BY ALL HAVING x > 1",
    "SELECT * FROM t a LEFT JOIN t b USING (i) WHERE EXISTS (SELECT 1 FROM t c WHERE c.i = a.i) ORDER BY 1 LIMIT 3",
    "SELECT f.value, f.index FROM t, LATERAL FLATTEN(INPUT => v:list, OUTER => TRUE) f WHERE f.value::TEXT LIKE 'a%'",
    "SELECT CASE WHEN o THEN 1 ELSE n END, IFF(i IN (1, 2), s, 'x'), d + 1, ts - INTERVAL '1 day', m FROM t",
    "SELECT i FROM t UNION ALL SELECT n FROM t MINUS SELECT column1 FROM VALUES (1), (2)",
    "SELECT LISTAGG(s, ',') WITHIN GROUP (ORDER BY i), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) "
    "FROM t GROUP BY ROLLUP (s)",
    "SELECT k, MIN(u), k COLLATE 'de' < s, d + INTERVAL '1-2' YEAR TO MONTH FROM t "
    "WHERE u LIKE 'a%' GROUP BY ALL ORDER BY k",
)
FOREIGN = re.compile(r"\[[A-Z]+_[A-Z_.]+\]|sqlglot|Traceback|\b(?:sm|bound|__)_\w+|\{\d\}|exp\.[A-Z]|<class")
"""Spark's classes of errors, names that we make, texts that were not filled in: nobody wrote that."""
COLUMNS = (
    "i", "n", "f", "s", "b", "o", "d", "m", "ts", "tl", "tz", "v", "j", "a", "k", "u",
    "NULL", "1", "'x'", "1.5", "TRUE",
)  # fmt: skip


def answers(text: str) -> bool:
    """True when the text was translated. Anything but an error of ours, in our words, propagates."""
    try:
        tree = QueryBinder(ENVIRONMENT).bind(parse_snowflake(text)).tree
        to_spark_sql(tree)
    except SnowmeltError as error:
        assert error.code.isdigit(), error
        strange = FOREIGN.search(error.message)
        assert strange is None or strange[0].strip("[]") in text.upper() + text, error.message
        return False
    except RecursionError:
        return False
    assert all(select.expressions for select in tree.find_all(exp.Select)), "Spark has no SELECT without items"
    return True


@pytest.mark.parametrize("query", QUERIES)
def test_the_seeds_are_translated(query: str) -> None:
    assert answers(query)


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    answers(text)
    answers(f"SELECT {text} FROM t")


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(QUERIES), st.randoms(use_true_random=False), st.integers(1, 6))
def test_broken_queries(query: str, random, cuts: int) -> None:  # type: ignore[no-untyped-def]
    words = query.split(" ")
    for _ in range(cuts):
        place = random.randrange(len(words))
        match random.randrange(3):
            case 0:
                del words[place]
            case 1:
                words.insert(place, random.choice(words or ["("]))
            case _:
                words[place] = random.choice([*COLUMNS, "(", ")", "*", "FROM", "$1", ":", "::", "OVER ()", "@x"])
        if not words:
            break
    answers(" ".join(words))


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(st.sampled_from(COLUMNS), max_size=4), st.booleans())
@example("TO_NUMBER", ["i", "1", "1", "1"], False)
def test_any_function_with_any_arguments(name: str, arguments: list[str], window: bool) -> None:
    over = " OVER (PARTITION BY s ORDER BY i)" if window else ""
    answers(f"SELECT {name}({', '.join(arguments)}){over} FROM t")


DEEP = (
    "(" * 5000,
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT 1" + " + 1" * 3000,
    "SELECT 1 WHERE " + " AND ".join(["i = 1"] * 5000),
    "SELECT " + "NOT " * 3000 + "TRUE",
)


@pytest.mark.parametrize("text", DEEP)
def test_deep_nesting_ends(text: str) -> None:
    answers(text)


ENDS = ("SELECT 1 +", "SELECT i FROM t WHERE", "SELECT i FROM", "SELECT (1", "SELECT CASE WHEN o THEN 2", "SELECT")


@pytest.mark.parametrize("text", ENDS)
def test_a_text_that_ends_too_early_says_so(text: str) -> None:
    with pytest.raises(SnowmeltError, match=rf"line 1 at position {len(text)} unexpected '<EOF>'"):
        parse_snowflake(text)


def test_a_select_without_items_is_an_error_where_they_are_missing() -> None:
    with pytest.raises(SnowmeltError, match="line 1 at position 7 unexpected 'FROM'"):
        parse_snowflake("SELECT FROM t")


def test_parameters_of_expressions_are_not_shared() -> None:
    tree = parse_snowflake("SELECT i AS x, x + x AS y FROM t")
    bound = QueryBinder(ENVIRONMENT).bind(tree)
    nodes = [id(node) for node in bound.tree.find_all(exp.Column)]
    assert len(nodes) == len(set(nodes))
