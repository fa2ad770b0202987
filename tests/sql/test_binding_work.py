"""A short text can't stand for more than the binder can write down, and nothing is computed twice that need not be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.work import BindingWork
from tests.sql.test_binder_fuzz import ENVIRONMENT


def bound(query: str, work: BindingWork | None = None) -> str:
    environment = replace(ENVIRONMENT, work=work or BindingWork())
    return to_spark_sql(QueryBinder(environment).bind(parse_snowflake(query)).tree)


NESTED = {
    "BETWEEN": ("(", "o", " BETWEEN FALSE AND TRUE)"),
    "LIKE ANY": ("(", "s", " LIKE ANY ('a%', 'b%', s))::VARCHAR"),
    "LIKE ALL": ("(", "s", " LIKE ALL ('a%', 'b%'))::VARCHAR"),
    "IN": ("(", "o", " IN (TRUE, FALSE))"),
    "CASE": ("CASE ", "i", " WHEN 1 THEN 2 ELSE 3 END"),
    "COALESCE": ("COALESCE(", "i", ", 1)"),
    "NVL2": ("NVL2(", "i", ", 1, 2)"),
    "a difference": ("(", "n", " - 1)"),
    "a path": ("", "v", "['a']"),
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_nested_grows_by_its_length(name: str) -> None:
    before, inner, behind = NESTED[name]
    sizes = [len(bound(f"SELECT {before * depth}{inner}{behind * depth} FROM t")) for depth in (4, 8, 12)]
    assert sizes[2] - sizes[1] < 1.5 * (sizes[1] - sizes[0])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT i AS c0" + "".join(f", c{k} + c{k} AS c{k + 1}" for k in range(60)) + " FROM t",
        "SELECT " + "ASCII(" * 24 + "i" + ")" * 24 + " FROM t",
    ],
    ids=["aliases of aliases", "a function that repeats its argument"],
)
def test_what_doubles_at_each_level_is_refused(query: str) -> None:
    with pytest.raises(SnowmeltError, match="too large") as refused:
        bound(query)
    assert refused.value.code == "000913"


def cancelled() -> None:
    raise errors.cancelled()


def test_a_cancelled_statement_is_not_bound_to_its_end() -> None:
    many = " UNION ALL ".join(["SELECT " + "i, n, " * 20 + "s FROM t"] * 60)
    with pytest.raises(SnowmeltError, match="cancel"):
        bound(many, BindingWork(cancelled))
    assert bound(many)


def test_long_lists_of_constants_are_not_counted() -> None:
    assert bound(f"SELECT i IN ({', '.join(map(str, range(20_000)))}) FROM t", BindingWork(cancelled))


@pytest.mark.parametrize("test", ["BETWEEN 0 AND 1", "BETWEEN i AND i + 1"])
def test_what_is_another_each_time_is_computed_once(test: str) -> None:
    assert bound(f"SELECT RANDOM() {test} FROM t").lower().count("random(") == 1
    assert bound(f"SELECT UUID_STRING() LIKE ANY ('a%', 'b%', s), i {test} FROM t").lower().count("uuid(") == 1
