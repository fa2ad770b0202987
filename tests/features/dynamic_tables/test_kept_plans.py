"""Plans that are kept between refreshes: used while nothing they depend on changed, and never after.

A stale plan would give wrong rows without a word. So tables are refreshed under random changes of rows and of all that
a definition may depend on, and compared with their queries each time.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.ivm.changes import TableChange
from snowmelt.runtime.account import Account
from snowmelt.runtime.incremental.kept import KeptPlans
from snowmelt.runtime.session import Session
from snowmelt.state.store import StateStore

QUERIES = {
    "rows_": "SELECT k, n, label FROM v WHERE n <> 3",
    "groups": "SELECT k, COUNT(*) AS c, SUM(n) AS n, MAX(n) AS m FROM s GROUP BY k",
    "joined": "SELECT s.k, scaled(s.n) AS n, r.m FROM s JOIN r ON s.k = r.k",
    "outer_": "SELECT s.k, s.n, r.m FROM s LEFT JOIN r ON s.k = r.k AND r.m > 0",
    "newest": "SELECT k, n FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC NULLS LAST, label) = 1",
    "latest": "SELECT k + 0 AS x, n, label FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY x ORDER BY n, label, d) = 1",
    "sums": "SELECT v.label, SUM(r.m) AS m FROM v JOIN r ON v.k = r.k GROUP BY v.label",
    "days": "SELECT k, DAYOFWEEK(d) AS w, COUNT(*) AS c FROM s GROUP BY k, DAYOFWEEK(d)",
    "above": "SELECT k, c + 1 AS c FROM groups WHERE c > 1",
}


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return sorted(session.execute(query).rows(), key=repr)


def make(session: Session) -> None:
    session.execute("CREATE TABLE s (k INT, n NUMBER(9, 0), label VARCHAR(10), d DATE)")
    session.execute("INSERT INTO s VALUES (0, 1, 'a', '2024-01-01'), (1, 2, 'b', '2024-01-07'), (1, 5, 'a', NULL)")
    session.execute("CREATE TABLE r (k INT, m INT)")
    session.execute("INSERT INTO r VALUES (0, 1), (1, 1), (1, 2)")
    session.execute("CREATE VIEW v AS SELECT k, n, label FROM s WHERE n IS NOT NULL")
    session.execute("CREATE FUNCTION scaled(x NUMBER) RETURNS NUMBER AS 'x * 2'")
    for name, query in QUERIES.items():
        session.execute(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS {query}")


def change_rows(session: Session, chance: random.Random) -> None:
    k, n = chance.randrange(4), chance.randrange(8)
    session.execute(
        chance.choice([
            f"INSERT INTO s (k, n, label, d) VALUES ({k}, {n}, 'n{n}', '2024-02-0{n + 1}')",
            f"INSERT INTO s (k, n, label, d) VALUES ({k}, NULL, NULL, NULL), ({k}, 3, 'c', '2024-03-03')",
            f"UPDATE s SET n = n + 1 WHERE k = {k}",
            f"DELETE FROM s WHERE n = {n}",
            f"INSERT INTO r VALUES ({k}, {n - 2})",
            f"DELETE FROM r WHERE m = {n}",
            f"UPDATE r SET m = m + 1 WHERE k = {k}",
        ])
    )  # fmt: skip


def _retype(session: Session, chance: random.Random) -> None:
    session.execute(f"ALTER TABLE s ALTER COLUMN label SET DATA TYPE VARCHAR({chance.randint(20, 90)})")


def _another_view(session: Session, chance: random.Random) -> None:
    body = chance.choice(["n IS NOT NULL", "n > 2", "k < 2 OR n IS NULL", "label <> 'a'"])
    session.execute(f"CREATE OR REPLACE VIEW v AS SELECT k, n, label FROM s WHERE {body}")


def _other_columns_of_the_view(session: Session, chance: random.Random) -> None:
    value = chance.choice(["n + 1", "k", "n"])
    session.execute(f"CREATE OR REPLACE VIEW v AS SELECT k, {value} AS n, UPPER(label) AS label FROM s")


def _another_function(session: Session, chance: random.Random) -> None:
    body = chance.choice(["x * 3", "x - 1", "x"])
    session.execute(f"CREATE OR REPLACE FUNCTION scaled(x NUMBER) RETURNS NUMBER AS '{body}'")


def _another_column(session: Session, chance: random.Random) -> None:
    session.execute(f"ALTER TABLE s ADD COLUMN extra{chance.randrange(10**6)} INT")


def _without_a_column(session: Session, chance: random.Random) -> None:
    session.execute("ALTER TABLE s ADD COLUMN gone INT")
    session.execute("INSERT INTO s (k, n, gone) VALUES (2, 2, 2)")
    session.execute("ALTER TABLE s DROP COLUMN gone")


def _replaced_table(session: Session, chance: random.Random) -> None:
    session.execute(f"CREATE OR REPLACE TABLE r AS SELECT k, m + {chance.randrange(2)} AS m FROM r")


def _swapped_tables(session: Session, chance: random.Random) -> None:
    session.execute("CREATE OR REPLACE TABLE other AS SELECT k + 1 AS k, m FROM r")
    session.execute("ALTER TABLE r SWAP WITH other")


def _renamed_table(session: Session, chance: random.Random) -> None:
    session.execute("CREATE OR REPLACE TABLE put_away (k INT, m INT)")
    session.execute("DROP TABLE put_away")
    session.execute("ALTER TABLE r RENAME TO put_away")
    session.execute("CREATE TABLE r AS SELECT k, m FROM put_away")


def _another_week(session: Session, chance: random.Random) -> None:
    session.execute(f"ALTER ACCOUNT SET WEEK_START = {chance.randrange(8)}")


def _unrelated(session: Session, chance: random.Random) -> None:
    session.execute("CREATE OR REPLACE TEMPORARY TABLE scratch (a INT)")


CATALOG: tuple[Callable[[Session, random.Random], None], ...] = (
    _retype, _another_view, _other_columns_of_the_view, _another_function, _another_column, _without_a_column,
    _replaced_table, _swapped_tables, _renamed_table, _another_week, _unrelated,
)  # fmt: skip


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[bool, int]]:
    """How often a refresh found what one before it compiled, and how often not."""
    found: dict[bool, int] = {True: 0, False: 0}
    find = KeptPlans.find

    def counting(self: KeptPlans, *given: Any) -> Any:
        prepared = find(self, *given)
        found[prepared is not None] += 1
        return prepared

    with monkeypatch.context() as patched:
        patched.setattr(KeptPlans, "find", counting)
        yield found


@pytest.mark.parametrize(
    "seed", [pytest.param(0), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))]
)
def test_a_table_is_its_query_whatever_changes(
    session: Session, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    chance = random.Random(seed)
    make(session)
    session.execute("ALTER SESSION SET QUERY_TAG = 'kept plans'")
    steps = list(CATALOG)
    chance.shuffle(steps)
    try:
        with counted(monkeypatch) as found:
            for alter in steps:
                for step in range(3):
                    if step == 0:
                        alter(session, chance)
                    for _ in range(chance.randint(1, 2)):
                        change_rows(session, chance)
                    session.execute(f"ALTER DYNAMIC TABLE {', '.join(QUERIES)} REFRESH")
                    for name, query in QUERIES.items():
                        got = rows(session, f"SELECT * FROM {name}")
                        assert got == rows(session, query), (alter.__name__, step, name)
    finally:
        session.execute("ALTER ACCOUNT UNSET WEEK_START")
    assert found[True] > found[False] / 4, found


def test_a_plan_is_used_again_and_ends_with_what_it_depends_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE s (k INT, n INT)")
    session.execute("INSERT INTO s VALUES (1, 1)")
    session.execute("CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS SELECT k, n FROM s")

    def refresh(number: int) -> None:
        session.execute(f"INSERT INTO s VALUES ({number}, {number})")
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
        assert rows(session, "SELECT k, n FROM d") == rows(session, "SELECT k, n FROM s")

    with counted(monkeypatch) as found:
        for number in range(4):
            refresh(number)
        assert found[True] >= 2
        before = found[False]
        session.execute("CREATE OR REPLACE TABLE s AS SELECT k, n + 10 AS n FROM s")
        refresh(9)
        assert found[False] > before


def test_a_right_that_is_gone_is_missed_at_once(session: Session) -> None:
    role = f"KEPT_{session.id}".replace("-", "_")
    session.execute(f"CREATE ROLE {role}")
    session.execute(f"GRANT ROLE {role} TO ROLE ACCOUNTADMIN")
    session.execute(f"GRANT ALL ON DATABASE {session.database} TO ROLE {role}")
    session.execute(f"GRANT ALL ON SCHEMA {session.database}.PUBLIC TO ROLE {role}")
    session.execute(f"GRANT USAGE ON WAREHOUSE COMPUTE_WH TO ROLE {role}")
    session.execute("CREATE TABLE s (k INT)")
    session.execute(f"GRANT SELECT ON TABLE s TO ROLE {role}")
    session.execute("CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS SELECT k FROM s")
    session.execute(f"GRANT OWNERSHIP ON DYNAMIC TABLE d TO ROLE {role}")
    for number in range(3):
        session.execute(f"INSERT INTO s VALUES ({number})")
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
    session.execute(f"REVOKE SELECT ON TABLE s FROM ROLE {role}")
    session.execute("INSERT INTO s VALUES (4)")
    with pytest.raises(SnowmeltError):
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
    session.execute(f"DROP ROLE {role}")


def test_a_short_refresh_is_one_transaction_of_the_state_store(
    session: Session, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE s (k INT, n INT)")
    # By changes, whatever the cost model makes of a busy machine: a full refresh says in the history that it runs.
    options = "TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL"
    session.execute(f"CREATE DYNAMIC TABLE a {options} AS SELECT k, n FROM s")
    session.execute(f"CREATE DYNAMIC TABLE b {options} AS SELECT k, SUM(n) AS n FROM a GROUP BY k")
    # Whatever this machine needs for it counts as short.
    monkeypatch.setattr("snowmelt.features.dynamic_tables.refresh._SHORT_MS", 10**9)
    begun: list[object] = []
    own = threading.current_thread()
    begin = StateStore.begin

    def counting(self: StateStore, *given: Any, **named: Any) -> Any:
        # Histories are written by threads of their own.
        if threading.current_thread() is own:
            begun.append(None)
        return begin(self, *given, **named)

    for number in range(4):
        session.execute(f"INSERT INTO s VALUES ({number % 2}, {number})")
        with monkeypatch.context() as patched:
            patched.setattr(StateStore, "begin", counting)
            begun.clear()
            session.execute("ALTER DYNAMIC TABLE b REFRESH")
    assert len(begun) == 2, "one for each table of the chain"
    assert rows(session, "SELECT k, n FROM b") == rows(session, "SELECT k, SUM(n) FROM s GROUP BY k")


def test_plans_are_told_apart_by_what_changed(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (k INT, n INT)")
    session.execute("CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS SELECT DISTINCT k FROM s")
    for number in range(2):
        session.execute(f"INSERT INTO s VALUES ({number}, {number})")
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
    kept = account.services[KeptPlans]
    compiled = next(one.compiled for one in kept._kept.values() if one.mark.table.name.database == session.database)
    (table,) = compiled.planner.view.root.tables
    one, other = (
        compiled.plan({table: TableChange(flag)}, None, session.account.clock.now(), None) for flag in (True, False)
    )
    assert one is not other
    assert compiled.plan({table: TableChange(True)}, None, session.account.clock.now(), None) is one
