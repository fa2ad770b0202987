"""Random subqueries in subqueries, each of which names columns of any query around it. DuckDB says what is right.

Spark fails on some of them by itself. Such a one is refused by name (002031); no row is ever wrong.
"""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

TABLES = {
    "a": [(1, "x"), (2, "y"), (2, "x"), (None, None)],
    "b": [(2, "x"), (3, "y"), (3, None)],
}
UNION = "(SELECT n, g FROM a UNION ALL SELECT n, g FROM b)"


class Queries:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def query(self) -> str:
        """Three columns of a source with the alias `q0`."""
        source = self.random.choice(["a", "b", UNION, UNION])
        value = self.value(2, ["q0"])
        return f"SELECT q0.n, q0.g, {value} AS v FROM {source} q0 WHERE {self.condition(2, ['q0'])}"

    def value(self, depth: int, around: list[str]) -> str:
        what = self.random.choice(["COUNT(*)", "MAX({0}.n)", "COUNT({0}.g)"])
        return f"({self.subquery(what, depth, around)})"

    def subquery(self, what: str, depth: int, around: list[str]) -> str:
        alias = f"q{len(around)}"
        source = self.random.choice(["a", "b"])
        condition = self.condition(depth - 1, [*around, alias])
        return f"SELECT {what.format(alias)} FROM {source} {alias} WHERE {condition}"

    def condition(self, depth: int, around: list[str]) -> str:
        parts = [self.comparison(around)]
        if depth > 0:
            parts.append(self.random.choice([self.exists, self.member, self.compared])(depth, around))
        return " AND ".join(parts)

    def comparison(self, around: list[str]) -> str:
        one, other = around[-1], self.random.choice(around)
        text = self.random.choice(["{0}.n >= {1}.n", "{0}.n <> {1}.n", "{0}.g = {1}.g", "{0}.n IS NOT NULL"])
        return text.format(one, other)

    def exists(self, depth: int, around: list[str]) -> str:
        return f"{self.random.choice(['', 'NOT '])}EXISTS ({self.subquery('1', depth, around)})"

    def member(self, depth: int, around: list[str]) -> str:
        return f"{self.random.choice(around)}.n IN ({self.subquery('{0}.n', depth, around)})"

    def compared(self, depth: int, around: list[str]) -> str:
        return f"{self.random.choice(around)}.n <= {self.value(depth, around)}"


def declare(session: Session) -> duckdb.DuckDBPyConnection:
    other = duckdb.connect()
    for name, rows in TABLES.items():
        shown = ", ".join(f"({n or 'NULL'}, {repr(g) if g else 'NULL'})" for n, g in rows)
        session.execute(f"CREATE OR REPLACE TABLE {name} (n INT, g VARCHAR)")
        session.execute(f"INSERT INTO {name} VALUES {shown}")
        other.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {shown}) AS given (n, g)")
    return other


def compare(session: Session, seed: int, asked: int) -> None:
    queries = Queries(seed)
    other = declare(session)
    refused = 0
    for query in [queries.query() for _ in range(asked)]:
        try:
            got = session.execute(query).rows()
        except SnowmeltError as error:
            assert error.code == "002031", f"{query}\n{error}"
            refused += 1
        else:
            assert Counter(got) == Counter(other.execute(query).fetchall()), query
    assert refused <= asked / 3


def test_columns_of_any_query_around(session: Session) -> None:
    compare(session, 1, 6)


@pytest.mark.slow
def test_columns_of_any_query_around_at_length(session: Session) -> None:
    compare(session, 2, 200)
