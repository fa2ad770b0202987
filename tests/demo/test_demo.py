"""`snowmelt demo` as a user calls it, in a process of its own: everything real, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
DEADLINE = 900.0


def demo(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Marked, so that what it leaves behind can be found."""
    return subprocess.Popen(
        [sys.executable, "-m", "snowmelt", "demo", "--data", str(folder), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder.parent,
        env={**os.environ, "RUN_OF_THE_DEMO": str(folder)},
    )  # fmt: skip


def left_running(folder: Path) -> list[str]:
    """Processes that inherited the mark of the run, whoever their parent is by now."""
    mark = f"RUN_OF_THE_DEMO={folder}".encode()
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120])
        except OSError:
            continue  # it ended meanwhile
    return found


def test_a_short_run(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    process = demo(folder, "--for", "8s", "--rate", "10")
    text, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, text
    assert "all checks passed" in text
    assert "✗" not in text
    assert left_running(folder) == []
    with open_account(folder) as account:
        session = account.session(database="SHOP")
        assert session.execute("SELECT COUNT(*) > 0 FROM revenue").rows() == [(True,)]
        (connector,) = session.execute("SHOW CONNECTORS").rows()
        assert "PAUSED" in connector


def test_a_short_run_in_s3(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    process = demo(folder, "--for", "8s", "--rate", "10", "--store", "s3")
    text, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, text
    assert "all checks passed" in text
    assert left_running(folder) == []
    assert list((folder / "s3" / "buckets").rglob("00000000000000000000.json"))
    assert not (folder / "tables").exists()


@pytest.mark.parametrize("reached", ["Starting Spark", "the shop is open"])
def test_ctrl_c(tmp_path: Path, reached: str) -> None:
    folder = tmp_path / "data"
    with demo(folder, "--for", "10m", "--rate", "10") as process:
        assert process.stdout is not None
        seen: list[str] = []
        for line in process.stdout:
            seen.append(line)
            if reached in line:
                break
        process.send_signal(signal.SIGINT)
        seen += process.stdout.readlines()
        assert process.wait(DEADLINE) == 130, "".join(seen)
    wait_until(lambda: not left_running(folder), "everything it started ends")
