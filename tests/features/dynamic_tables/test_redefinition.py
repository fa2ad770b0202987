"""Definitions that change at random while their sources do: after each refresh the table equals the query it has now.

`changed_query` makes a neighbour of a query: other conditions at any depth, further columns, a further join, or
something else altogether, which has to be computed anew.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

CONDITIONS = (
    "s.n > 2", "s.n <= 5", "s.k = 1", "s.k <> 2", "s.v = 'a'", "s.v IS NULL", "s.n IN (1, 2, 3)", "s.n + s.k > 3",
    "s.n IS NOT NULL", "(s.n > 1 OR s.v = 'b')", "s.f > 1.5",
)  # fmt: skip
ABOVE = (
    "q.total > 3", "q.total < 20", "q.k <> 0", "q.much >= 2", "q.total IS NOT NULL", "q.k IN (SELECT k FROM r)",
    "EXISTS (SELECT 1 FROM r WHERE r.k = q.k AND r.m > 1)", "NOT EXISTS (SELECT 1 FROM r WHERE r.k = q.k AND r.m > 2)",
)  # fmt: skip
DERIVED = (
    "q.total * 2", "q.k + 1", "q.total + q.much", "COALESCE(q.total, 0)", "q.k || '!'", "1",
    "q.total / NULLIF(q.much, 0)",
)  # fmt: skip
JOINED = ("r2.m", "r2.m + q.total", "COALESCE(r2.m, -1)")
BASES = (
    "SELECT s.k, s.n AS total, s.n + 1 AS much FROM s WHERE {below}",
    "SELECT s.k, s.n AS total, r.m AS much FROM s JOIN r ON s.k = r.k WHERE {below}",
    "SELECT s.k, s.n AS total, r.m AS much FROM s LEFT JOIN r ON s.k = r.k WHERE {below}",
    "SELECT s.k, SUM(s.n) AS total, COUNT(*) AS much FROM s WHERE {below} GROUP BY s.k",
    "SELECT s.k, MIN(s.n) AS total, COUNT(DISTINCT s.v) AS much FROM s WHERE {below} GROUP BY s.k",
    "SELECT s.k, SUM(s.f) AS total, MAX(s.n) AS much FROM s WHERE {below} GROUP BY s.k",
    "SELECT DISTINCT s.k, s.n AS total, 1 AS much FROM s WHERE {below}",
    "SELECT s.k, s.n AS total, s.id AS much FROM s WHERE {below} "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY s.k ORDER BY s.id DESC) = 1",
    "SELECT s.k, s.n AS total, SUM(s.n) OVER (PARTITION BY s.k) AS much FROM s WHERE {below}",
    "SELECT s.k, s.n AS total, s.id AS much FROM s WHERE {below} UNION ALL SELECT k, m, m FROM r",
    "SELECT s.k, s.n AS total, s.id AS much FROM s "
    "WHERE {below} AND EXISTS (SELECT 1 FROM r WHERE r.k = s.k AND r.m > 1)",
    "SELECT s.k, COUNT(*) AS total, SUM(r.m) AS much FROM s JOIN r ON s.k = r.k WHERE {below} GROUP BY s.k",
)
JOINS = ("", "JOIN r2 ON r2.k = q.k", "LEFT JOIN r2 ON r2.k = q.k", "JOIN r2 ON r2.k = q.k AND r2.m > 0")


@dataclass(frozen=True)
class Query:
    base: str
    below: str
    above: str
    join: str
    more: tuple[str, ...] = ()

    def text(self) -> str:
        inner = self.base.format(below=self.below)
        columns = "".join(f", {value} AS x{index}" for index, value in enumerate(self.more))
        return f"SELECT q.k, q.total, q.much{columns} FROM ({inner}) q {self.join} WHERE {self.above}"


def random_query(chance: random.Random) -> Query:
    below, above = chance.choice(CONDITIONS), chance.choice(ABOVE)
    return Query(chance.choice(BASES), below, above, chance.choice(JOINS[:2]))


def changed_query(chance: random.Random, query: Query) -> Query:
    match chance.randrange(8):
        case 0:
            return replace(query, below=chance.choice(CONDITIONS))
        case 1:
            return replace(query, below=f"{query.below} AND {chance.choice(CONDITIONS)}")
        case 2:
            return replace(query, above=chance.choice(ABOVE))
        case 3:
            return replace(query, above=f"{query.above} AND {chance.choice(ABOVE)}")
        case 4:
            return replace(query, more=(*query.more, chance.choice((*DERIVED, *JOINED) if query.join else DERIVED)))
        case 5:
            join = chance.choice(JOINS[1:]) if not query.join else query.join
            return replace(query, join=join, more=(*query.more, chance.choice((*DERIVED, *JOINED))))
        case 6:
            return replace(query, below=chance.choice(CONDITIONS), more=(*query.more, chance.choice(DERIVED)))
        case _:
            return replace(query, base=chance.choice(BASES))


def change_sources(session: Session, chance: random.Random) -> None:
    for _ in range(chance.randint(0, 3)):
        match chance.randrange(5):
            case 0:
                session.execute(f"DELETE FROM s WHERE n = {chance.randrange(8)}")
            case 1:
                session.execute(f"UPDATE s SET n = n + 1 WHERE k = {chance.randrange(4)}")
            case 2:
                table = chance.choice(("r", "r2"))
                session.execute(f"INSERT INTO {table} VALUES ({chance.randrange(5)}, {chance.randrange(4)})")
            case _:
                rows = ", ".join(_row(chance) for _ in range(chance.randint(1, 6)))
                session.execute(f"INSERT INTO s VALUES {rows}")


def _row(chance: random.Random) -> str:
    n, v = chance.choice([*range(8), "NULL"]), chance.choice(("NULL", "'a'", "'b'"))
    return f"({chance.randrange(1000)}, {chance.randrange(5)}, {n}, {v}, {chance.random() * 4})"


def run_redefinitions(session: Session, seed: int, changes: int) -> list[bool]:
    """Whether each change of the definition was carried over; fails when the table is ever something else."""
    chance = random.Random(seed)
    schema = f"redefined_{seed}"
    session.execute(f"CREATE SCHEMA {schema}")
    session.execute("CREATE TABLE s (id INT, k INT, n INT, v VARCHAR, f FLOAT)")
    session.execute("CREATE TABLE r (k INT, m INT)")
    session.execute("CREATE TABLE r2 (k INT, m INT)")
    session.execute("INSERT INTO r VALUES (0, 1), (1, 1), (1, 2), (3, 5)")
    session.execute("INSERT INTO r2 VALUES (0, 1), (1, 1), (2, 0), (2, 2)")
    change_sources(session, chance)
    query = random_query(chance)
    options = "TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH"
    session.execute(f"CREATE DYNAMIC TABLE d {options} AS {query.text()}")
    carried: list[bool] = []
    for step in range(changes):
        change_sources(session, chance)
        query = changed_query(chance, query)
        how = chance.choice(("REPLACE", "REPLACE", "ALTER"))
        try:
            said = str(session.execute(f"CREATE OR {how} DYNAMIC TABLE d {options} AS {query.text()}").rows()[0][0])
        except SnowmeltError as error:
            raise AssertionError(f"seed {seed}, step {step}: {error}\n{query.text()}") from error
        carried.append("carried over" in said)
        if how == "ALTER" and chance.random() < 0.3:
            continue
        change_sources(session, chance)
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
        found: dict[str, Any] = json.loads(session.execute("SELECT SYSTEM$CHECK_DYNAMIC_TABLE('d')").rows()[0][0])
        assert found["equal"], f"seed {seed}, step {step}: {said}\n{found}\n{query.text()}"
    session.execute(f"DROP SCHEMA {schema}")
    return carried


def test_random_redefinitions(session: Session) -> None:
    carried = [one for seed in range(6) for one in run_redefinitions(session, seed, 4)]
    assert sum(carried) >= len(carried) * 0.3


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_random_redefinitions(session: Session) -> None:
    for seed in range(1_000, 1_120):
        run_redefinitions(session, seed, 6)
