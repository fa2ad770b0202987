"""What an account keeps is its user's alone, whatever the umask was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings


@pytest.fixture(autouse=True)
def open_mask() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


def _wider(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077]


def _use(data: Path, rows: Path) -> None:
    with open_account(data, settings=Settings()) as account:
        session = account.session()
        session.execute("CREATE TABLE IF NOT EXISTS t (a INT)")
        session.execute("INSERT INTO t VALUES (1)")
        session.execute(f"PUT 'file://{rows}' @~ OVERWRITE = TRUE")
        session.close()
        assert _wider(data) == []
    assert _wider(data) == []


def test_a_new_data_directory_is_private(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1\n", encoding="utf-8")
    _use(tmp_path / "new" / "data", tmp_path / "rows.csv")


def test_one_that_is_open_is_narrowed_and_that_is_logged(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1\n", encoding="utf-8")
    data = tmp_path / "data"
    _use(data, tmp_path / "rows.csv")
    for path in (data, *data.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    with capture_logs() as logs:
        _use(data, tmp_path / "rows.csv")
    assert "data_directory_narrowed" in {entry["event"] for entry in logs}
