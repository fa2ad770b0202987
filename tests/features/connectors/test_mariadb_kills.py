"""Whatever is killed around a MariaDB: no change is lost, none is there twice, and the mirror ends up as its source."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pymysql
import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.connectors.service import Connectors
from tests.conftest import SPARK
from tests.features.connectors.capture import load, standing
from tests.features.connectors.mariadb_shop import PASSWORD_ENV, change, create_statement, execute, fill, settled
from tests.features.connectors.shop import check_raw, running, wait_for_commits
from tests.features.connectors.test_connector_kills import engine_pid
from tests.support.mariadb_server import BINLOG, PASSWORD, MariaDbServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
_NAMES = ("raw", "mirror")


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[MariaDbServer]:
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    # Killed without having to say so, it has what it committed.
    with MariaDbServer({**BINLOG, "sync-binlog": "1", "innodb-flush-log-at-trx-commit": "1"}) as server:
        with closing(server.connect()) as source:
            execute(source, "CREATE DATABASE shop")
        with closing(server.connect("shop")) as source:
            fill(source)
        yield server


def declare(data: Path, server: MariaDbServer) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        session.execute(create_statement("raw", server, "shop", ["items"], ""))
        session.execute(create_statement("mirror", server, "shop", ["items"], "TARGET = MIRROR"))


def check_everything(data: Path, server: MariaDbServer) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as account, closing(server.connect("shop")) as source:
        account.services[Connectors].start()
        session = account.session()
        execute(source, "INSERT INTO items VALUES (-1, 0, 'the end')")
        settled(session, "mirror", source, "items", 900)
        end = standing(session, "mirror")["position"]
        wait_until(lambda: int(standing(session, "raw")["position"] or 0) >= int(end), "the raw table has it", 900)
        assert [standing(session, name)["dead_letters"] for name in _NAMES] == [0, 0]
        check_raw(session, dict(execute(source, "SELECT id, version FROM items")))


def reads(server: MariaDbServer) -> bool:
    """Whether both engines read the log."""
    with closing(server.connect()) as source:
        return sum("Binlog Dump" in str(row[4]) for row in execute(source, "SHOW PROCESSLIST")) == len(_NAMES)


def test_snowmelt_is_killed_again_and_again(shop: MariaDbServer, tmp_path: Path) -> None:
    """From the first snapshot on, under load."""
    declare(tmp_path, shop)
    with load(lambda: closing(shop.connect("shop")), pymysql.OperationalError, change(0.05)):
        for commits in (0, 2, 6):
            with running(tmp_path):
                wait_for_commits(tmp_path, commits)
                time.sleep(3)
        with running(tmp_path):
            wait_until(lambda: reads(shop), "both connectors stream")
            wait_for_commits(tmp_path, 4)
    check_everything(tmp_path, shop)


def test_engines_and_mariadb_are_killed(shop: MariaDbServer, tmp_path: Path) -> None:
    declare(tmp_path, shop)
    with open_account(tmp_path, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        account.services[Connectors].start()
        with load(lambda: closing(shop.connect("shop")), pymysql.Error, change(0.05)):
            for name in _NAMES:
                wait_until(lambda name=name: standing(session, name)["state"] == "STREAMING", "it streams")  # type: ignore[misc]
                pid = engine_pid(account, name)
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda name=name, pid=pid: engine_pid(account, name) not in (0, pid), "another engine")  # type: ignore[misc]
            wait_until(lambda: reads(shop), "both connectors stream again")
            shop.kill()
            states = [lambda name=name: standing(session, name)["state"] for name in _NAMES]  # type: ignore[misc]
            wait_until(lambda: "RETRYING" in [state() for state in states], "the loss is noticed")
            shop.start()
            wait_until(lambda: reads(shop), "both connectors stream once more")
    check_everything(tmp_path, shop)
