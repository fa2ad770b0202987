"""A power cut during upkeep: what it flushes before what, and torn files of a log. Right rows or a clear error."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings, UpkeepSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from tests.crash.inspection import check_at_rest
from tests.crash.test_power_cut import Disk
from tests.runtime.transactions.seeing import location, seen
from tests.support.table_files import files_on_disk, live_files

ROWS = 130
UPKEEP = UpkeepSettings(small_files=4, vacuum_seconds=0, grace_seconds=60, orphan_hours=1e-9)
TORN = ("empty", "half", "zeros")
TORN_ENTRY = (*TORN, "a line")
"""A text without its last line looks whole."""


def opened(folder: Path, clock: ManualClock) -> Account:
    return open_account(folder, settings=Settings(upkeep=UPKEEP), clock=clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a table of 130 commits, a checkpoint, and all entries of its log."""
    folder = tmp_path_factory.mktemp("kept")
    with opened(folder, ManualClock(datetime(2026, 1, 1, tzinfo=UTC))) as account:
        session = account.session()
        session.execute("CREATE TABLE T (ID INT)")
        for number in range(ROWS):
            session.execute(f"INSERT INTO T VALUES ({number})")
        where = location(account, "T")
        account.store.care.make_checkpoint(where, account.store.latest_version(where) - 5)
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    return Path(shutil.copytree(kept, tmp_path / "data"))


def log_of(folder: Path) -> Path:
    return next((folder / "tables").glob("*/*/t-*")) / "_delta_log"


def tear(path: Path, how: str) -> None:
    content = path.read_bytes()
    ways = {"empty": b"", "half": content[: len(content) // 2], "zeros": bytes(len(content))}
    ways["a line"] = b"".join(content.splitlines(keepends=True)[:-1])
    path.write_bytes(ways[how])


def checkpoints(folder: Path) -> list[Path]:
    return sorted(log_of(folder).glob("*.checkpoint.parquet"))


def test_upkeep_flushes_before_it_flips(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path, clock) as account:
        disk = Disk(account, monkeypatch)
        session = account.session()
        session.execute("CREATE TABLE T (ID INT)")
        for number in range(6):
            session.execute(f"INSERT INTO T VALUES ({number})")
        account.services[Upkeep].run()
        assert ("OPTIMIZE", 7) in disk.flips
        assert seen(session, "T") == [list(range(6))]


@pytest.mark.parametrize("how", TORN)
def test_a_new_file_without_its_commit(folder: Path, clock: ManualClock, how: str) -> None:
    """Cut between writing the rows and committing them: nobody names the file, whatever is left of it."""
    with opened(folder, clock) as account:
        where = location(account, "T")
        version = account.store.latest_version(where)
        account.store.write_together(where, version, live_files(account, "T"))
        (new,) = {*account.store.root.path(where).glob("*.parquet")} - {
            Path(file.uri.removeprefix("file://")) for file in live_files(account, "T")
        }
        tear(new, how)
    with opened(folder, clock) as account:
        assert seen(account.session(), "T") == [list(range(ROWS))]
        account.services[Upkeep].run()
        assert not new.exists()
        assert seen(account.session(), "T") == [list(range(ROWS))]


def test_files_that_were_replaced_and_are_still_there(folder: Path, clock: ManualClock) -> None:
    """Cut between the commit and the removal: the next look goes on with it."""
    with opened(folder, clock) as account:
        account.services[Upkeep].run()
        assert files_on_disk(account, "T") > ROWS
        clock.advance(timedelta(days=2))
    with opened(folder, clock) as account:
        account.services[Upkeep].run()
        assert files_on_disk(account, "T") == len(live_files(account, "T")) < 40
        assert seen(account.session(), "T") == [list(range(ROWS))]


@pytest.mark.parametrize("how", TORN_ENTRY)
def test_a_torn_commit_of_upkeep(folder: Path, clock: ManualClock, how: str) -> None:
    """Cut before the flip, with the name of the log entry on disk and its content not: as if it never was."""
    account = opened(folder, clock)
    where = location(account, "T")
    version = account.store.latest_version(where)
    actions = account.store.write_together(where, version, live_files(account, "T")[:40])
    transaction = account.transactions.begin(explicit=False)
    account.store.put_together(where, version, actions, transaction.tag(None))
    account.close()
    tear(log_of(folder) / f"{version + 1:020d}.json", how)
    with opened(folder, clock) as account:
        session = account.session()
        assert seen(session, "T") == [list(range(ROWS))]
        session.execute(f"INSERT INTO T VALUES ({ROWS})")
        account.services[Upkeep].run()
        assert seen(session, "T") == [list(range(ROWS + 1))]
        check_at_rest(account)


@pytest.mark.parametrize("how", TORN_ENTRY)
def test_the_entry_of_a_visible_version_is_torn(folder: Path, clock: ManualClock, how: str) -> None:
    """The disk lost what it had said to be on it. The rows of the version before would be the wrong ones."""
    tear(max(log_of(folder).glob("*.json")), how)
    with opened(folder, clock) as account:
        session = account.session()
        for _ in range(2):
            with pytest.raises(SnowmeltError, match="damaged") as caught:
                seen(session, "T")
            assert caught.value.code == "370004"
        with pytest.raises(SnowmeltError, match="damaged"):
            session.execute("INSERT INTO T VALUES (1000)")
        assert {item.outcome for item in account.services[Upkeep].run()} <= {"DONE", "FAILED"}
        session.execute_script("DROP TABLE T; CREATE TABLE T (ID INT); INSERT INTO T VALUES (1)")
        assert seen(session, "T") == [[1]]


@pytest.mark.parametrize(
    ("which", "how"), [*(("checkpoint", how) for how in TORN), ("pointer", "half"), ("both", "empty")]
)
def test_a_torn_checkpoint(folder: Path, clock: ManualClock, which: str, how: str) -> None:
    """The log says the same: the checkpoint is set aside, and another is made."""
    if which != "pointer":
        tear(checkpoints(folder)[-1], how)
    if which != "checkpoint":
        tear(log_of(folder) / "_last_checkpoint", how)
    with opened(folder, clock) as account:
        session = account.session()
        assert seen(session, "T") == [list(range(ROWS))]
        for number in range(ROWS, ROWS + 10):
            session.execute(f"INSERT INTO T VALUES ({number})")
        account.services[Upkeep].run()
        clock.advance(timedelta(days=2))
        account.services[Upkeep].run()
        assert seen(session, "T") == [list(range(ROWS + 10))]
    with opened(folder, clock) as account:
        assert seen(account.session(), "T") == [list(range(ROWS + 10))]


@pytest.fixture
def cleaned(folder: Path, clock: ManualClock) -> Iterator[Path]:
    """The same without the entries before the checkpoint, which went with their versions."""
    with opened(folder, clock) as account:
        clock.advance(timedelta(days=2))
        account.services[Upkeep].run()
        where = location(account, "T")
        account.store.care.make_checkpoint(where, account.store.latest_version(where))
        account.session().execute(f"INSERT INTO T VALUES ({ROWS})")
        clock.advance(timedelta(days=2))
        account.services[Upkeep].run()
    assert not (log_of(folder) / f"{1:020d}.json").exists()
    yield folder


@pytest.mark.parametrize("how", TORN)
def test_a_torn_checkpoint_that_the_log_needs(cleaned: Path, clock: ManualClock, how: str) -> None:
    for path in checkpoints(cleaned):
        tear(path, how)
    with opened(cleaned, clock) as account:
        session = account.session()
        with pytest.raises(SnowmeltError, match=r"damaged: the checkpoint of version \d+ can't be read") as caught:
            seen(session, "T")
        assert caught.value.code == "370004"
        session.execute_script("CREATE TABLE OTHER (ID INT); INSERT INTO OTHER VALUES (1); DROP TABLE T")
        assert seen(session, "OTHER") == [[1]]
