"""A frozen region under random changes: refreshed by changes, a table is what it is when refreshed in full.

The twin of every table has the same definition and REFRESH_MODE = FULL; both are refreshed at the same data timestamps.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from snowmelt.runtime.session import Session

QUERIES = {
    "rows": "SELECT k, at, n FROM s WHERE n <> 3",
    "groups": "SELECT k, MAX(at) AS at, SUM(n) AS n FROM s GROUP BY k",
    "newest": "SELECT k, at, n FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC, n) = 1",
    "joined": "SELECT s.k, s.at, s.n + r.m AS n FROM s LEFT JOIN r ON s.k = r.k",
    "distinct": "SELECT DISTINCT k, at, 0 AS n FROM s",
}
REGIONS = {
    # Rows pass into it while the test runs.
    "by the clock": "at < DATEADD(second, -5, CURRENT_TIMESTAMP())",
    "by a column": "n < 5 OR k = 2",
}
STEPS = 5


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return session.execute(query).rows()


def change(session: Session, chance: random.Random) -> None:
    """Rows come, go and change, old and young ones."""
    for _ in range(chance.randint(1, 3)):
        match chance.randrange(5):
            case 0:
                session.execute(f"DELETE FROM s WHERE n = {chance.randrange(10)}")
            case 1:
                session.execute(f"UPDATE s SET n = n + 1 WHERE k = {chance.randrange(4)}")
            case 2:
                session.execute(f"INSERT INTO r VALUES ({chance.randrange(4)}, {chance.randrange(3)})")
            case _:
                values = ", ".join(
                    f"({chance.randrange(4)}, {chance.randrange(-20, 5)}, {chance.choice([*range(10), 'NULL'])})"
                    for _ in range(chance.randint(1, 4))
                )
                session.execute(
                    "INSERT INTO s SELECT column1, DATEADD(second, column2, CURRENT_TIMESTAMP()), column3"
                    f" FROM VALUES {values}"
                )


@pytest.mark.slow
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("seed", range(2))
def test_frozen_rows_stay_and_all_others_follow(session: Session, region: str, seed: int) -> None:
    chance = random.Random(seed)
    session.execute("CREATE TABLE s (k INT, at TIMESTAMP_LTZ, n INT)")
    session.execute("CREATE TABLE r (k INT, m INT)")
    session.execute("INSERT INTO r VALUES (0, 1), (1, 1), (1, 2)")
    change(session, chance)
    for name, query in QUERIES.items():
        for twin, mode in ((name, "INCREMENTAL"), (f"{name}_full", "FULL")):
            session.execute(
                f'CREATE DYNAMIC TABLE "{twin}" TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = {mode}'
                f" FROZEN WHERE ({REGIONS[region]}) AS {query}"
            )
    for step in range(STEPS):
        change(session, chance)
        names = ", ".join(f'"{name}", "{name}_full"' for name in QUERIES)
        session.execute(f"ALTER DYNAMIC TABLE {names} REFRESH")
        for name in QUERIES:
            got, expected = (sorted(rows(session, f'SELECT * FROM "{t}"'), key=repr) for t in (name, f"{name}_full"))
            assert got == expected, (region, seed, step, name)
    for name in QUERIES:
        verdict = json.loads(rows(session, f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('\"{name}\"')")[0][0])
        assert verdict["equal"], verdict
    actions = rows(
        session,
        "SELECT DISTINCT refresh_action"
        " FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(RESULT_LIMIT => 10000))"
        f" WHERE database_name = '{session.database}' AND refresh_trigger = 'MANUAL' AND name NOT LIKE '%_full'",
    )
    assert {action for (action,) in actions} <= {"INCREMENTAL", "NO_DATA"}
