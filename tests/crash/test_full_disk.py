"""A disk that is full, at any step: a clear error, nothing half done, and everything works once there is space."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings, UpkeepSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.recovery import Recovered
from snowmelt.runtime.session import Session
from tests.crash.inspection import check_at_rest, contents
from tests.runtime.transactions.seeing import location, seen

DISK_FULL = "53100"
_BLOCK = 4096


class Disk:
    """A small file system of its own, with a file that takes up space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def leave(self, free: int) -> None:
        """Fills the disk up to so many free bytes."""
        self.clear()
        found = os.statvfs(self.folder)
        size = found.f_bavail * found.f_frsize - free
        # The account's own background writes may take a block meanwhile: full is what is wanted here.
        with contextlib.suppress(OSError), self._ballast.open("wb") as file:
            for _ in range(max(size, 0) // _BLOCK):
                file.write(bytes(_BLOCK))

    def clear(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(parent: Path, size: str) -> Iterator[Disk]:
    folder = parent / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("only root can make a small file system")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path, "8m") as found:
        yield found


def attempt(session: Session, *statements: str) -> bool:
    """Whether all of them succeeded; the first that fails says that the disk is full, and what was begun is ended."""
    try:
        for statement in statements:
            session.execute(statement)
    except SnowmeltError as error:
        assert error.sqlstate == DISK_FULL, f"{statement}: {error!r} {error}"
        assert "the disk is full" in error.message
        assert error.transient
        session.execute("ROLLBACK")
        return False
    return True


def test_statements_on_a_full_disk(disk: Disk) -> None:
    with open_account(disk.folder / "data", settings=Settings()) as account:
        session = account.session()
        for name in ("A", "B"):
            session.execute(f"CREATE TABLE {name} (ID INT)")
        expected: dict[str, list[int]] = {"A": [], "B": []}
        outcomes: set[bool] = set()
        for number, free in enumerate(range(0, 40 * _BLOCK, _BLOCK)):
            disk.leave(free)
            if attempt(session, f"INSERT INTO A VALUES ({number})"):
                expected["A"].append(number)
            transaction = ("BEGIN", f"INSERT INTO A VALUES (1{number})", f"INSERT INTO B VALUES ({number})", "COMMIT")
            outcomes.add(done := attempt(session, *transaction))
            if done:
                expected["A"].append(int(f"1{number}"))
                expected["B"].append(number)
            if attempt(session, f"DELETE FROM B WHERE ID = {number}") and done:
                expected["B"].remove(number)
            attempt(session, f"CREATE TABLE T{number} (ID INT)")
            # Reading needs no space.
            assert seen(session, "A", "B") == [sorted(expected["A"]), sorted(expected["B"])]
        assert outcomes == {True, False}, "the disk was always full, or never"
        disk.clear()
        session.execute("INSERT INTO A VALUES (-1)")
        session.execute("INSERT INTO B VALUES (-1)")
        assert seen(session, "A", "B") == [sorted([-1, *expected["A"]]), sorted([-1, *expected["B"]])]
        check_at_rest(account)
        for name in ("A", "B"):
            assert unnamed_files(account.store.root.path(location(account, name))) == []
    with open_account(disk.folder / "data", settings=Settings()) as account:
        assert account.recovered == Recovered()
        check_at_rest(account)


def unnamed_files(folder: Path) -> list[str]:
    """Files in a table's folder that no commit of it names."""
    commits = b"".join(path.read_bytes() for path in folder.glob("_delta_log/*.json"))
    return [str(path) for path in folder.rglob("*.parquet") if path.name.encode() not in commits]


def test_recovery_on_a_full_disk(disk: Disk) -> None:
    account = open_account(disk.folder / "data", settings=Settings())
    session = account.session()
    session.execute("CREATE TABLE A (ID INT)")
    session.execute("INSERT INTO A VALUES (1)")
    account.close()
    for free in (0, _BLOCK, 8 * _BLOCK, 64 * _BLOCK):
        disk.leave(free)
        try:
            with open_account(disk.folder / "data", settings=Settings()) as again:
                assert {name: rows for name, rows in contents(again).items() if name == "A"} == {"A": [[1]]}
        except SnowmeltError as error:
            assert "disk" in str(error), error
    disk.clear()
    with open_account(disk.folder / "data", settings=Settings()) as again:
        check_at_rest(again)
        assert contents(again) == {"A": [[1]]}


def test_upkeep_on_a_full_disk(disk: Disk) -> None:
    """It stops, says so once, leaves nothing behind, and goes on when there is space."""
    settings = Settings(upkeep=UpkeepSettings(small_files=4, history_seconds=10**6))
    with open_account(disk.folder / "data", settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE A (ID INT)")
        for number in range(12):
            session.execute(f"INSERT INTO A VALUES ({number})")
        account.services[Upkeep].run()
        for number in range(12, 24):
            session.execute(f"INSERT INTO A VALUES ({number})")
        folder = account.store.root.path(location(account, "A"))
        before = len(list(folder.glob("*.parquet")))
        disk.leave(0)
        with structlog.testing.capture_logs() as logs:
            outcomes = [done.outcome for _ in range(3) for done in account.services[Upkeep].run()]
        assert outcomes and set(outcomes) == {"FAILED"}
        warnings = [entry["event"] for entry in logs if entry["log_level"] == "warning"]
        assert warnings.count("upkeep_stopped_for_now") == 1
        assert len(list(folder.glob("*.parquet"))) == before
        assert seen(session, "A") == [list(range(24))]
        disk.clear()
        assert {done.outcome for done in account.services[Upkeep].run()} == {"DONE"}
        where = location(account, "A")
        assert len(account.store.files(where, account.store.latest_version(where)).files) < 4
        assert seen(session, "A") == [list(range(24))]
