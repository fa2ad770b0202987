"""Transfers between two tables while Spark adds both up: one statement sees one state of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.waiting import DEADLINE

TOTAL = (
    "SELECT (SELECT COALESCE(SUM(X), 0) FROM A) + (SELECT COALESCE(SUM(X), 0) FROM B), "
    "(SELECT COUNT(*) FROM A JOIN B ON A.N = B.N), (SELECT COUNT(*) FROM A), (SELECT COUNT(*) FROM B)"
)


def test_every_look_finds_the_same_total(account: Account, session: Session) -> None:
    for name in ("A", "B"):
        session.execute(f"CREATE TABLE {name} (N INT, X INT)")
    first_look, done = threading.Event(), threading.Event()

    def transfer() -> None:
        writer = account.session(database=session.database)
        try:
            first_look.wait(DEADLINE)
            for number in range(12):
                writer.execute("BEGIN")
                writer.execute(f"INSERT INTO A VALUES ({number}, -{number})")
                if number % 4 == 3:
                    # One of the writes goes through Spark, and one of the transactions comes to nothing.
                    writer.execute(f"INSERT INTO B SELECT N, -X FROM A WHERE N = {number}")
                    writer.execute("COMMIT")
                elif number % 4 == 2:
                    writer.execute("ROLLBACK")
                else:
                    writer.execute(f"INSERT INTO B VALUES ({number}, {number})")
                    writer.execute("COMMIT")
        finally:
            done.set()
            writer.close()

    looks: list[tuple[int, ...]] = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(transfer)
        while not done.is_set() or not looks:
            looks.append(tuple(int(value) for value in session.execute(TOTAL).rows()[0]))
            first_look.set()
        writing.result()
    looks.append(tuple(int(value) for value in session.execute(TOTAL).rows()[0]))
    for total, joined, in_a, in_b in looks:
        assert total == 0
        assert joined == in_a == in_b
    assert looks[-1] == (0, 9, 9, 9)
    assert [look[1] for look in looks] == sorted(look[1] for look in looks)
