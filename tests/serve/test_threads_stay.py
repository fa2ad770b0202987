"""Hundreds of statements over many sessions leave neither threads nor open files behind."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from tests.clients.server import PASSWORD, serving
from tests.support.waiting import DEADLINE, wait_until
from tests.support.wire import WireSession

CLIENTS, ROUNDS = 4, 3
STATEMENTS = ("INSERT INTO t VALUES (1)", "SHOW TABLES", "SELECT 1", "ALTER SESSION SET QUERY_TAG = 'x'")
SLACK = 10
"""What may come and go at any moment: connections of clients that are closing, files that are read."""


def counted() -> tuple[int, int, int]:
    """Python's threads, all threads of the process, and its open files."""
    tasks, files = (sum(1 for _ in Path("/proc/self", name).iterdir()) for name in ("task", "fd"))
    return threading.active_count(), tasks, files


def use(url: str) -> None:
    client = WireSession(url, PASSWORD)
    for statement in STATEMENTS * 10:
        assert client.send(statement)["success"]
    client.close()


def use_by_many(url: str) -> None:
    threads = [threading.Thread(target=use, args=(url,)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)


@pytest.mark.timeout(900)
def test_threads_and_files_stay(tmp_path: Path) -> None:
    with open_account(tmp_path / "data", settings=Settings()) as account, serving(account) as port:
        url = f"http://127.0.0.1:{port}"
        account.session().execute("CREATE TABLE t (n INT)")
        use_by_many(url)
        before = counted()
        for _ in range(ROUNDS):
            use_by_many(url)

        def as_before() -> bool:
            # delta-rs keeps the threads with which it reads files for ten seconds after the last one.
            return all(now <= then + SLACK for now, then in zip(counted(), before, strict=True))

        wait_until(as_before, lambda: f"{before} became {counted()}")
        assert not account.engine.started.is_set()
