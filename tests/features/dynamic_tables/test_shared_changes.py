"""What changed in a source is read once for all tables that read it, and never taken for something else."""

from __future__ import annotations

from typing import Any

import pytest

from snowmelt.features.dynamic_tables import change_sets
from snowmelt.runtime.session import Session

QUERIES = {
    "sums": "SELECT k, SUM(n) AS n FROM s GROUP BY k",
    "counts": "SELECT k, COUNT(*) AS c, SUM(n) AS n FROM s GROUP BY k",
    "some_": "SELECT k, n FROM s WHERE n > 2",
    "keys": "SELECT DISTINCT k FROM s",
}


def test_a_commit_is_read_once_for_all_tables_with_the_same_columns(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE s (k INT, n INT)")
    session.execute("INSERT INTO s VALUES (0, 1), (1, 2)")
    for name, query in QUERIES.items():
        session.execute(
            f"CREATE DYNAMIC TABLE {name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH "
            f"REFRESH_MODE = INCREMENTAL AS {query}"
        )
    read: list[tuple[str, ...]] = []
    found = change_sets._read

    def counting(account: Any, location: str, ranges: Any, names: Any, limit: int) -> Any:
        read.append(tuple(names))
        return found(account, location, ranges, names, limit)

    monkeypatch.setattr(change_sets, "_read", counting)
    changes = [
        ["INSERT INTO s VALUES (2, 5), (0, 3)"],
        ["BEGIN", "INSERT INTO s VALUES (7, 70)", "ROLLBACK", "UPDATE s SET n = n + 1 WHERE k = 0"],
        ["DELETE FROM s WHERE k = 1", "INSERT INTO s VALUES (1, 9)"],
        ["TRUNCATE TABLE s", "INSERT INTO s VALUES (4, 4)"],
    ]
    for statements in changes:
        for statement in statements:
            session.execute(statement)
        read.clear()
        session.execute(f"ALTER DYNAMIC TABLE {', '.join(QUERIES)} REFRESH")
        assert sorted(read) == sorted(set(read)) and len(read) <= 2, "once for K, N and once for K alone"
        for name, query in QUERIES.items():
            rows = sorted(session.execute(f"SELECT * FROM {name}").rows())
            assert rows == sorted(session.execute(query).rows()), (statements, name)


def test_tables_behind_by_different_commits_get_their_own(session: Session) -> None:
    session.execute("CREATE TABLE s (k INT, n INT)")
    for name, query in QUERIES.items():
        session.execute(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS {query}")
    names = list(QUERIES)
    for number in range(8):
        session.execute(f"INSERT INTO s VALUES ({number % 3}, {number})")
        session.execute(f"ALTER DYNAMIC TABLE {names[number % 4]} REFRESH")
    session.execute(f"ALTER DYNAMIC TABLE {', '.join(names)} REFRESH")
    for name, query in QUERIES.items():
        rows = sorted(session.execute(f"SELECT * FROM {name}").rows())
        assert rows == sorted(session.execute(query).rows()), name
