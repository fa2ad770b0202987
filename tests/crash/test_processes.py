"""Several processes and one data directory: one owns it, the others are told whom to ask, or ask it themselves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import httpx
import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.ownership import Ownership, current_owner
from snowmelt.serve.client import RemoteSession
from tests.conftest import SPARK
from tests.crash.inspection import check_at_rest, contents
from tests.support.waiting import DEADLINE, wait_until

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("SNOWMELT_") or key == "SNOWMELT_JARS"
    }
    return {**kept, "PYTHONPATH": path, "COLUMNS": "200", **more}


def snowmelt(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [sys.executable, "-m", "snowmelt", *arguments]
    return subprocess.run(
        command, env=environment(**more), check=False, capture_output=True, text=True, timeout=DEADLINE, cwd=ROOT
    )


class Process:
    """A command at work, line by line."""

    def __init__(self, command: list[str], **more: str) -> None:
        self.process = subprocess.Popen(
            command, env=environment(**more), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        self.printed: list[str] = []
        self._lines: Queue[str | None] = Queue()
        """None: there are no more."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def line(self, pattern: str) -> re.Match[str]:
        """The first line from here on that matches."""
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.01))
            except Empty:
                line = None
            if line is None:
                raise AssertionError(f"no line like {pattern!r} in {self.printed}")
            self.printed.append(line)
            found = re.search(pattern, self.printed[-1])
            if found:
                return found

    def end(self, number: int, *, everyone: bool = False) -> int:
        """Sends a signal, to the processes it started as well if so asked, and returns how the process ended."""
        if everyone:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        while not self._lines.empty():
            self.printed += [line for line in [self._lines.get()] if line is not None]
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        return code


@contextmanager
def running(command: list[str], **more: str) -> Iterator[Process]:
    process = Process(command, **more)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)


OWNER = """
import sys
from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
account = open_account(sys.argv[1], settings=Settings())
session = account.session()
session.execute("CREATE TABLE IF NOT EXISTS T (ID INT)")
session.execute("BEGIN")
session.execute("INSERT INTO T VALUES (1)")
print("ready", flush=True)
sys.stdin.readline()
"""


def owner(data: Path) -> list[str]:
    return [sys.executable, "-c", OWNER, str(data)]


def test_the_second_process_learns_who_the_first_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(owner(data)) as first:
        first.line("ready")
        with pytest.raises(SnowmeltError, match=f"in use by process {first.process.pid}\\.") as caught:
            open_account(data, settings=Settings())
        assert caught.value.code == "370001"
        assert "snowmelt serve" in str(caught.value)
        refused = snowmelt("sql", "--data", str(data), "-q", "SELECT 1")
        assert refused.returncode == 3
        assert f"in use by process {first.process.pid}" in refused.stderr
        # Killed, it leaves its directory to the next at once, and what it had not committed to nobody.
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        assert json.loads((data / "owner.json").read_text())["pid"] == first.process.pid
        assert current_owner(data) is None
        with open_account(data, settings=Settings()) as account:
            assert account.recovered.undone == ("SNOWMELT.PUBLIC.T",)
            assert contents(account) == {"T": []}
            check_at_rest(account)
    assert not (data / "owner.json").exists()


def test_many_want_it_at_once(tmp_path: Path) -> None:
    """Whoever only looks must not keep out whoever wants to own."""
    data = tmp_path / "data"
    data.mkdir()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            found = current_owner(data)
            assert found is None or found.pid == os.getpid()

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for thread in lookers:
        thread.start()
    try:
        for _ in range(50):
            Ownership(data).release()
    finally:
        stop.set()
        for thread in lookers:
            thread.join()


def test_two_accounts_in_one_process(tmp_path: Path) -> None:
    with (
        open_account(tmp_path / "data", settings=Settings()),
        pytest.raises(SnowmeltError, match=f"in use by process {os.getpid()}"),
    ):
        open_account(tmp_path / "data", settings=Settings())


def test_a_data_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SnowmeltError, match="can't be used") as caught:
        open_account(tmp_path / "file" / "data", settings=Settings())
    assert caught.value.code == "370001"


def serve(data: Path, config: Path) -> list[str]:
    return [sys.executable, "-m", "snowmelt", "serve", "--data", str(data), "--port", "0", "--config", str(config)]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return small_spark(tmp_path / "snowmelt.toml")


def small_spark(path: Path) -> Path:
    """A configuration file for a server beside the tests' own Spark."""
    lines = ["[spark]", *(f'"{key}" = "{value}"' for key, value in SPARK.items()), '"spark.driver.memory" = "1g"']
    path.write_text("\n".join(dict.fromkeys(line for line in lines if '"3g"' not in line)))
    return path


def test_a_server_and_those_who_come_to_its_directory(tmp_path: Path, config: Path) -> None:
    data = tmp_path / "data"
    with running(serve(data, config)) as server:
        password = server.line(r"User admin, password (\S+) ")[1]
        url = server.line(r"Snowmelt serves \S+ at (http://\S+)")[1]
        wait_until(lambda: httpx.get(f"{url}/healthz").status_code == 200, lambda: httpx.get(f"{url}/healthz").text)
        assert httpx.get(f"{url}/healthz").json()["state"] == "ready"

        with pytest.raises(SnowmeltError, match=f"process {server.process.pid} at {url}") as caught:
            open_account(data, settings=Settings())
        assert f"--url {url}" in str(caught.value)

        statements = "CREATE TABLE T (ID INT); INSERT INTO T VALUES (1), (2); SELECT SUM(ID) AS TOTAL FROM T"
        told = snowmelt("sql", "--data", str(data), "--format", "csv", "-q", f"{statements}; SELECT * FROM MISSING")
        assert told.stdout.split()[-2:] == ["TOTAL", "3"]
        assert (told.returncode, "002003" in told.stderr) == (1, True)

        # The password opens it from elsewhere; nothing else does.
        by_url = snowmelt("sql", "--url", url, "-q", "SELECT 7 AS N", SNOWMELT_ADMIN_PASSWORD=password)
        assert (by_url.returncode, "7" in by_url.stdout) == (0, True)
        with pytest.raises(SnowmeltError, match="Incorrect username or password"):
            RemoteSession.with_password(url, "guess")
        kept = b"".join(path.read_bytes() for path in data.glob("*") if path.is_file())
        assert password.encode() not in kept, "the password is kept in clear"
        for name in ("admin.password", "owner.token"):
            assert (data / name).stat().st_mode & 0o077 == 0, f"{name} can be read by others"

        # Killed with a transaction open: the next one owns the directory at once and finds nothing of it.
        session = RemoteSession.of_directory(url, data)
        session.execute("BEGIN")
        session.execute("INSERT INTO T VALUES (3)")
        server.end(signal.SIGKILL)
        with pytest.raises(SnowmeltError, match="connection to the server"):
            session.execute("COMMIT")
        session.close()
        assert sum(password in line for line in server.printed) == 1, "the password was printed again"
    with open_account(data, settings=Settings()) as account:
        assert contents(account) == {"T": [[1], [2]]}

    with running(serve(data, config), SNOWMELT_ADMIN_PASSWORD="chosen") as server:
        url = server.line(r"Snowmelt serves \S+ at (http://\S+)")[1]
        assert not any("password" in line for line in server.printed), "a password that was given is not printed"
        for tried, right in (("chosen", True), (password, False), ("", False)):
            try:
                session = RemoteSession.with_password(url, tried)
            except SnowmeltError as error:
                assert (right, error.code) == (False, "390100")
            else:
                assert right
                session.execute("BEGIN")
                session.execute("INSERT INTO T VALUES (4)")
        # As a supervisor does it: Spark's process is told to end as well.
        assert server.end(signal.SIGTERM, everyone=True) == 0, f"the server did not stop cleanly: {server.printed}"
        assert not (data / "owner.json").exists()
        assert "Traceback" not in "".join(server.printed)
    with open_account(data, settings=Settings()) as account:
        assert account.recovered.undone == (), "the open transaction was left to recovery"
        assert contents(account) == {"T": [[1], [2]]}
        check_at_rest(account)


def test_stopped_before_it_serves(tmp_path: Path, config: Path) -> None:
    """SIGTERM while Spark starts: the directory is let go all the same."""
    data = tmp_path / "data"
    with running(serve(data, config)) as server:
        server.line("password")
        assert server.end(signal.SIGTERM) == 0
    assert current_owner(data) is None
    assert not (data / "owner.json").exists()
