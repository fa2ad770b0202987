"""What a power cut may take: nothing that a statement reported as done."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from urllib.parse import unquote

import pytest
from sqlalchemy import text

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from snowmelt.state.dynamic import Dynamic
from snowmelt.state.dynamic_model import DynamicState
from snowmelt.state.model import TableDefinition, TableVersion
from snowmelt.state.versions import Versions
from snowmelt.storage.log import commit_name, parse_actions
from tests.crash.inspection import check_at_rest, contents
from tests.runtime.transactions.seeing import a_dead_process_appends, seen, they_append


class Disk:
    """Notes what was flushed and when, and checks at every flip that all of the new versions was."""

    def __init__(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        self.account = account
        self.flushed: dict[str, int] = {}
        self.flips: list[tuple[str, int]] = []
        self.states: list[str] = []
        self._ticks = itertools.count()
        self._named: dict[str, int] = {}
        fsync, link, flip = os.fsync, os.link, Versions.flip

        def noting_fsync(descriptor: int) -> None:
            fsync(descriptor)
            self.flushed[str(Path(f"/proc/self/fd/{descriptor}").readlink())] = next(self._ticks)

        def noting_link(source: Path, target: Path) -> None:
            assert str(source) in self.flushed or source.suffix == ".parquet", f"{target} has a name before its content"
            link(source, target)
            self._named[str(target)] = next(self._ticks)

        def checking_flip(versions: Versions, version: TableVersion) -> None:
            self._check(versions, version)
            flip(versions, version)

        monkeypatch.setattr(os, "fsync", noting_fsync)
        monkeypatch.setattr(os, "link", noting_link)
        monkeypatch.setattr(Versions, "flip", checking_flip)
        put = Dynamic.put

        def checking_put(dynamic: Dynamic, standing: DynamicState) -> None:
            self._check_states(dynamic, standing)
            put(dynamic, standing)

        monkeypatch.setattr(Dynamic, "put", checking_put)

    def _check(self, versions: Versions, version: TableVersion) -> None:
        before = versions.visible(version.table_id)
        with self.account.state.read() as state:
            table = state.catalog.by_id(version.table_id)
        # A new table is not in the catalog before this very transaction: its folder is the newest one.
        if table is not None:
            assert isinstance(table.definition, TableDefinition)
            folder = self.account.store.root.path(table.definition.location)
        else:
            root = Path(self.account.store.root.uri)
            folder = max(root.glob("*/*/*"), key=lambda path: path.stat().st_ctime_ns)
        first = 0 if before is None else before.version + 1
        for number in range(first, version.version + 1):
            entry = folder / "_delta_log" / commit_name(number)
            self._must_be_flushed(entry)
            for action in parse_actions(entry.read_bytes()):
                written = action.get("add") or action.get("cdc")
                if written is not None:
                    self._must_be_flushed(folder / unquote(written["path"]))
        if before is None:
            for parent in (folder, folder.parent, folder.parent.parent):
                assert str(parent) in self.flushed, f"the name of {parent} was not flushed"
        self.flips.append((version.operation, version.version))

    def _check_states(self, dynamic: Dynamic, standing: DynamicState) -> None:
        """What a dynamic table's aggregates stand on is on disk before the state store names it."""
        before = dynamic.get(standing.table_id)
        known = {file for state in before.operator_states.values() for file in state.files} if before else set()
        for state in standing.operator_states.values():
            for file in set(state.files) - known:
                (found,) = Path(self.account.store.root.uri).glob(f"*/*/*/_state/{file}")
                self._must_be_flushed(found)
                self.states.append(file)

    def _must_be_flushed(self, path: Path) -> None:
        assert str(path) in self.flushed, f"{path} was not flushed"
        folder = self.flushed.get(str(path.parent), -1)
        assert folder > self._named.get(str(path), -1), f"the name of {path} was not flushed"


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return open_account(tmp_path / "data", settings=Settings())


def test_files_first_then_their_version(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(account, monkeypatch)
    session = account.session()
    for statement in (
        "CREATE TABLE A (ID INT)",
        "INSERT INTO A VALUES (1), (2)",
        "DELETE FROM A WHERE ID = 1",
        "CREATE TABLE B CLONE A",
        "BEGIN",
        "INSERT INTO A VALUES (3)",
        "INSERT INTO B VALUES (3)",
        "INSERT INTO A VALUES (4)",
        "COMMIT",
        "BEGIN",
        "INSERT INTO A VALUES (5)",
        "ROLLBACK",
        "INSERT OVERWRITE INTO A VALUES (6)",
        "TRUNCATE TABLE A",
        "CREATE OR REPLACE TABLE A (ID INT, NOTE VARCHAR)",
        "ALTER TABLE A ADD COLUMN MORE INT",
        "INSERT INTO A VALUES (1, 'x', 2)",
        "ALTER TABLE A DROP COLUMN NOTE",
    ):
        session.execute(statement)
    they_append(account, "B", 9)
    a_dead_process_appends(account, "B", 99)
    they_append(account, "B", 10)
    assert seen(session, "B") == [[2, 3, 9, 10]]
    operations = [operation for operation, _ in disk.flips]
    assert {"CREATE TABLE", "INSERT", "DELETE", "UNDO", "TRUNCATE", "ALTER TABLE", "FOREIGN"} <= set(operations)
    assert operations.count("INSERT") == 5
    check_at_rest(account)
    account.close()


def test_states_of_aggregates_first_then_the_table(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(account, monkeypatch)
    session = account.session()
    session.execute("CREATE TABLE S (K INT, N INT)")
    session.execute(
        "CREATE DYNAMIC TABLE D TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL AS "
        "SELECT K, SUM(N) AS N FROM S GROUP BY K"
    )
    for number in range(20):
        session.execute(f"INSERT INTO S VALUES ({number % 3}, {number})")
        session.execute("ALTER DYNAMIC TABLE D REFRESH")
    assert len(disk.states) >= 20
    assert sorted(session.execute("SELECT * FROM D").rows()) == [(0, 63), (1, 70), (2, 57)]
    account.close()


def test_recovery_does_the_same(account: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    session = account.session()
    session.execute("CREATE TABLE A (ID INT)")
    session.execute("INSERT INTO A VALUES (1)")
    session.execute("BEGIN")
    session.execute("INSERT INTO A VALUES (2)")
    they_append(account, "A", 3)
    # As a kill leaves it: nothing is closed but what the operating system closes.
    account.ownership.release()
    disk = Disk(account, monkeypatch)
    with open_account(tmp_path / "data", settings=Settings()) as again:
        assert again.recovered.undone == ("SNOWMELT.PUBLIC.A",)
        assert contents(again) == {"A": [[1], [3]]}
    assert [operation for operation, _ in disk.flips] == ["FOREIGN"]
    account.journal.close()
    account.state.close()


def test_the_state_store_flushes_its_commits(account: Account) -> None:
    with account.state._engines.write.connect() as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2, "FULL: every commit is flushed"
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    account.close()
