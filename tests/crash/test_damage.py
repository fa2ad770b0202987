"""Data directories as accidents leave them: what is whole works, what is not says so."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.state.store import StateStore
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.table import DeltaStore
from tests.crash.inspection import check_at_rest, contents
from tests.runtime.transactions.seeing import find, location, seen, they_append, visible

DATA = "data"


def opened(folder: Path, **settings: Any) -> Account:
    return open_account(folder / DATA, settings=Settings(**settings))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with an account in it that has the tables A, with a row, and B."""
    with opened(tmp_path) as account:
        session = account.session()
        session.execute("CREATE TABLE A (ID INT)")
        session.execute("INSERT INTO A VALUES (1)")
        session.execute("CREATE TABLE B (ID INT)")
    return tmp_path


def table_folder(folder: Path, name: str) -> Path:
    return next((folder / DATA / "tables").glob(f"*/*/{name.lower()}-*"))


# The tables


def test_a_half_written_log_entry(shop: Path) -> None:
    log = table_folder(shop, "A") / "_delta_log"
    (log / ".00000000000000000002.json.0123.tmp").write_text('{"commitInfo": {"timest')
    (log / "_commit_0123.json.tmp").write_text('{"add":')
    with opened(shop) as account:
        assert contents(account) == {"A": [[1]], "B": []}
        account.session().execute("INSERT INTO A VALUES (2)")
        assert contents(account)["A"] == [[1], [2]]
        check_at_rest(account)


@pytest.mark.parametrize("content", [b"", b'{"commitInfo": {"timest', bytes(4096)])
def test_a_torn_log_entry(shop: Path, content: bytes) -> None:
    """A power cut kept the name of a file that was not flushed yet, and lost what was in it."""
    log = table_folder(shop, "A") / "_delta_log"
    (log / "00000000000000000002.json").write_bytes(content)
    with opened(shop) as account:
        assert contents(account) == {"A": [[1]], "B": []}
        account.session().execute("INSERT INTO A VALUES (2)")
        check_at_rest(account)


def test_a_table_that_nobody_published(shop: Path) -> None:
    with opened(shop) as account:
        abandoned = account.store.root.new_location("SNOWMELT", "PUBLIC", "C")
        columns = account.store.files(location(account, "A"), 0).metadata.arrow_schema
        assert columns.names == ["ID"]
        definition = find(account, "A").definition
        account.store.create(
            abandoned,
            definition.columns,  # type: ignore[union-attr]
            change_feed=True,
            tag=CommitTag("17"),
        )
    with opened(shop) as account:
        assert account.recovered.removed == (abandoned,)
        check_at_rest(account)


def test_a_folder_that_somebody_else_put_there(shop: Path) -> None:
    theirs = shop / DATA / "tables" / "snowmelt" / "public" / "theirs-0123abcd"
    write_deltalake(theirs, pa.table({"X": [1]}))
    other = shop / DATA / "tables" / "snowmelt" / "public" / "notes"
    other.mkdir()
    with opened(shop) as account:
        assert account.recovered.removed == ()
    assert theirs.exists()
    assert other.exists()


def test_a_table_without_its_folder(shop: Path) -> None:
    shutil.rmtree(table_folder(shop, "A"))
    with opened(shop) as account:
        session = account.session()
        for statement in ("INSERT INTO A VALUES (2)", "TRUNCATE TABLE A", "DELETE FROM A WHERE ID = 1"):
            with pytest.raises(SnowmeltError, match=r"files of table 'SNOWMELT\.PUBLIC\.A' are damaged"):
                session.execute(statement)
        # Everything else works, and so does getting rid of it.
        session.execute("INSERT INTO B VALUES (1)")
        session.execute("CREATE OR REPLACE TABLE A (ID INT)")
        session.execute("INSERT INTO A VALUES (3)")
        assert seen(session, "A", "B") == [[3], [1]]
    with opened(shop) as account:
        assert contents(account) == {"A": [[3]], "B": [[1]]}


def test_a_table_whose_visible_version_is_gone(shop: Path) -> None:
    log = table_folder(shop, "A") / "_delta_log"
    (log / "00000000000000000001.json").unlink()
    with opened(shop) as account:
        session = account.session()
        with pytest.raises(SnowmeltError):
            seen(session, "A")
        with pytest.raises(SnowmeltError, match="damaged: version 1 is missing"):
            session.execute("INSERT INTO A VALUES (2)")
        assert account.recovered.broken == ("SNOWMELT.PUBLIC.A",)
        session.execute("INSERT INTO B VALUES (1)")


def test_others_wrote_while_nobody_owned_the_directory(shop: Path) -> None:
    folder = table_folder(shop, "A")
    write_deltalake(folder, pa.table({"ID": pa.array([7], pa.int64())}), mode="append")
    with opened(shop) as account:
        assert account.recovered.adopted == ("SNOWMELT.PUBLIC.A",)
        assert contents(account)["A"] == [[1], [7]]
        check_at_rest(account)


def test_temporary_tables_of_a_killed_process(shop: Path) -> None:
    account = opened(shop)
    session = account.session()
    session.execute("CREATE TEMPORARY TABLE T (ID INT)")
    session.execute("INSERT INTO T VALUES (1)")
    # As a kill leaves it: nothing is closed but what the operating system closes.
    account.ownership.release()
    with opened(shop) as again:
        assert len(again.recovered.removed) == 1
        with again.state.read() as state:
            assert [item.name.name for item in state.catalog.objects(all_sessions=True)] == ["A", "B"]
        check_at_rest(again)
    account.journal.close()
    account.state.close()


# The state store


def test_a_state_store_that_is_no_database(shop: Path) -> None:
    (shop / DATA / "state.db").write_bytes(b"no database at all" * 1000)
    for suffix in ("-wal", "-shm"):
        (shop / DATA / f"state.db{suffix}").unlink(missing_ok=True)
    with pytest.raises(SnowmeltError, match=r"state store at .* cannot be opened") as caught:
        opened(shop)
    assert caught.value.code == "370001"


def test_a_damaged_state_store(shop: Path) -> None:
    path = shop / DATA / "state.db"
    for suffix in ("-wal", "-shm"):
        (shop / DATA / f"state.db{suffix}").unlink(missing_ok=True)
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(SnowmeltError, match="state store"):
        opened(shop)
    # Nothing was made worse: the tables are all there.
    assert table_folder(shop, "A").exists()
    assert table_folder(shop, "B").exists()


def test_a_state_store_that_was_lost(shop: Path) -> None:
    """A new one in its place would take every table for one that was never published."""
    for path in (shop / DATA).glob("state.db*"):
        path.unlink()
    with pytest.raises(SnowmeltError, match="state store is new, but there are tables") as caught:
        opened(shop)
    assert caught.value.code == "370001"
    assert table_folder(shop, "A").exists()


def test_a_state_store_that_is_read_only(shop: Path) -> None:
    url = f"sqlite:///file:{shop / DATA / 'state.db'}?mode=ro&uri=true"
    with pytest.raises(SnowmeltError, match=r"readonly|read-only|unable to open"):
        opened(shop, state_url=url)
    with opened(shop) as account:
        assert contents(account)["A"] == [[1]]


def test_a_state_store_that_fails_at_the_commit(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the Delta commit and the flip: nothing is visible, and the next statement finds everything in order."""
    with opened(shop) as account:
        session = account.session()
        begin = StateStore.begin

        def failing(self: StateStore) -> Any:
            raise SnowmeltError("370003", "58030", "The state store could not be read or written: disk I/O error.")

        session.execute("BEGIN")
        session.execute("INSERT INTO A VALUES (2)")
        session.execute("INSERT INTO B VALUES (2)")
        monkeypatch.setattr(StateStore, "begin", failing)
        with pytest.raises(SnowmeltError, match="disk I/O error"):
            session.execute("COMMIT")
        assert seen(session, "A", "B") == [[1], []]
        they_append(account, "A", 7)
        monkeypatch.setattr(StateStore, "begin", begin)
        assert seen(session, "A", "B") == [[1, 7], []]
        session.execute("INSERT INTO B VALUES (3)")
        assert seen(session, "A", "B") == [[1, 7], [3]]
        check_at_rest(account)


# Interruptions inside the process


def failing_once(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, *, after: bool = False) -> None:
    """Makes the next call of a storage method raise, before or after it did its work."""
    original: Callable[..., Any] = getattr(DeltaStore, name)
    calls: list[int] = []

    def replacement(self: DeltaStore, *arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            return original(self, *arguments, **more)
        if after:
            original(self, *arguments, **more)
        raise error

    monkeypatch.setattr(DeltaStore, name, replacement)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["append", "sync", "restore", "undo"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_interrupted_anywhere(
    shop: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, *, after: bool
) -> None:
    with opened(shop) as account:
        session = account.session()
        failing_once(monkeypatch, name, error, after=after)
        try:
            session.execute("INSERT INTO A VALUES (2)")
            expected = [1, 2]
        except (SnowmeltError, KeyboardInterrupt):
            expected = [1]
        assert seen(session, "A") == [expected]
        session.execute("BEGIN")
        session.execute("INSERT INTO A VALUES (3)")
        try:
            session.execute("ROLLBACK")
        except KeyboardInterrupt:
            session.execute("ROLLBACK")
        assert seen(session, "A") == [expected]
        session.execute("INSERT INTO A VALUES (4)")
        assert seen(session, "A") == [[*expected, 4]]
        assert visible(account, "A").rows == len(expected) + 1
        check_at_rest(account)


def test_a_statement_that_fails_and_cannot_be_undone(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction does not see what is left of the statement, and neither does anybody after its COMMIT."""
    with opened(shop) as account:
        session = account.session()
        session.execute("BEGIN")
        session.execute("INSERT INTO A VALUES (2)")
        with monkeypatch.context() as patched:
            failing_once(patched, "append", OSError(errno.EIO, "Input/output error"), after=True)
            failing_once(patched, "undo", OSError(errno.ENOSPC, "No space left on device"))
            with pytest.raises(SnowmeltError, match="Input/output error"):
                session.execute("INSERT INTO A VALUES (3)")
        assert seen(session, "A") == [[1, 2]]
        session.execute("COMMIT")
        assert seen(session, "A") == [[1, 2]]
        check_at_rest(account)


def test_what_owner_json_says_does_not_matter(shop: Path) -> None:
    for text in ("", "[]", "{}", '{"pid": "x"}', json.dumps({"pid": 1, "url": 5}), "\x00" * 100):
        (shop / DATA / "owner.json").write_text(text)
        with opened(shop) as account:
            assert contents(account)["A"] == [[1]]
