"""Whatever is killed, whenever: no change is lost, none is there twice, and a mirror ends up as its source."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.connectors.service import Connectors
from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.account import Account
from tests.conftest import SPARK
from tests.features.connectors.capture import caught_up, connect, create_statement, rows, standing, write_load
from tests.features.connectors.shop import change, check_raw, restart, running, shop_server, wait_for_commits
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def shop() -> Iterator[EmbeddedPostgres]:
    with shop_server() as server:
        yield server


def declare(data: Path, server: EmbeddedPostgres) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        session.execute(create_statement("raw", server, ["items"], "", "postgres"))
        session.execute(create_statement("mirror", server, ["items"], "TARGET = MIRROR", "postgres"))


def check_everything(data: Path, server: EmbeddedPostgres) -> None:
    """After all has landed: the mirror is the source, and the raw table has every version of every row once."""
    with open_account(data, settings=Settings(spark=SPARK)) as account, connect(server) as source:
        account.services[Connectors].start()
        session = account.session()
        for name in ("raw", "mirror"):
            caught_up(session, name, source, deadline=900)
            assert standing(session, name)["dead_letters"] == 0
        expected = source.execute("SELECT id, version, body FROM items ORDER BY id").fetchall()
        assert rows(session, "SELECT id, version, body FROM items ORDER BY id") == expected
        check_raw(session, {row[0]: row[1] for row in expected})


def streaming(data: Path, server: EmbeddedPostgres) -> bool:
    with connect(server) as source:
        found = source.execute("SELECT count(*) FROM pg_stat_replication").fetchone()
        return found is not None and found[0] == 2


def test_snowmelt_is_killed_again_and_again(shop: EmbeddedPostgres, tmp_path: Path) -> None:
    """From the first snapshot on, under load."""
    declare(tmp_path, shop)
    with write_load(shop, "postgres", change):
        for commits in (0, 2, 5, 9):
            with running(tmp_path):
                wait_for_commits(tmp_path, commits)
                time.sleep(3)
        with running(tmp_path):
            wait_until(lambda: streaming(tmp_path, shop), "both connectors stream")
            wait_for_commits(tmp_path, 4)
    check_everything(tmp_path, shop)


def test_engines_and_postgresql_are_killed(shop: EmbeddedPostgres, tmp_path: Path) -> None:
    declare(tmp_path, shop)
    with open_account(tmp_path, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        account.services[Connectors].start()
        with write_load(shop, "postgres", change):
            for name in ("raw", "mirror"):
                wait_until(lambda name=name: standing(session, name)["state"] == "STREAMING", "it streams")  # type: ignore[misc]
                pid = engine_pid(account, name)
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda name=name, pid=pid: engine_pid(account, name) not in (0, pid), "another engine")  # type: ignore[misc]
            wait_until(lambda: streaming(tmp_path, shop), "both connectors stream again")
            shop.kill()
            wait_until(lambda: "RETRYING" in (standing(session, "raw")["state"], standing(session, "mirror")["state"]),
                       "the loss is noticed")  # fmt: skip
            restart(shop)
            wait_until(lambda: streaming(tmp_path, shop), "both connectors stream once more")
    check_everything(tmp_path, shop)


def engine_pid(account: Account, name: str) -> int:
    with account.state.read() as state:
        found = next(item for item in state.catalog.objects() if item.name.name == name.upper())
    return account.services[Connectors].engine_pid(found.id) or 0
