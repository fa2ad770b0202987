"""Procedures run in processes of their own: limited, killed with their statement, and gone with what they started."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.waiting import wait_until

Define = Callable[[str], None]


@pytest.fixture
def define(script: Session) -> Define:
    def make(body: str) -> None:
        script.execute(
            "CREATE OR REPLACE PROCEDURE p() RETURNS VARCHAR LANGUAGE PYTHON HANDLER = 'main' EXECUTE AS CALLER "
            f"AS $$\nimport os, time\nfrom pathlib import Path\ndef main(session):\n{body}\n$$"
        )

    return make


@pytest.fixture
def limited(trusting: Account) -> Iterator[Callable[..., None]]:
    """Changes settings for one test."""
    before = trusting.settings

    def change(**settings: object) -> None:
        trusting.settings = before.model_copy(update=settings)

    yield change
    trusting.settings = before


def called(session: Session) -> str:
    return str(session.execute("CALL p()").rows()[0][0])


def failure(session: Session) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as caught:
        session.execute("CALL p()")
    return caught.value


def alive(pid: int) -> bool:
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(told.strip()) and not told.strip().startswith("Z")


def test_each_call_has_a_process_of_its_own(script: Session, define: Define) -> None:
    define("    return str(os.getpid()) + ' ' + ','.join(sorted(os.environ))")
    (first, names), (second, _) = (called(script).split(" ") for _ in range(2))
    assert len({first, second, str(os.getpid())}) == 3
    assert not any(name.startswith(("SNOWMELT", "AWS")) for name in names.split(","))
    assert not alive(int(first))


def test_a_killed_process_is_an_error_that_says_so_and_the_transaction_goes_on(script: Session, define: Define) -> None:
    script.execute("CREATE TABLE t (a INT)")
    define("    session.sql('INSERT INTO t VALUES (2)').collect()\n    os.kill(os.getpid(), 9)")
    script.execute("BEGIN")
    script.execute("INSERT INTO t VALUES (1)")
    error = failure(script)
    assert error.code == "100357"
    assert "was killed" in error.message
    assert script.execute("SELECT COUNT(*) FROM t").rows() == [(2,)]
    script.execute("ROLLBACK")
    assert script.execute("SELECT COUNT(*) FROM t").rows() == [(0,)]


def test_own_code_is_limited_in_time_and_memory(script: Session, define: Define, limited: Callable[..., None]) -> None:
    limited(procedure_seconds=2.0)
    define("    while True: pass")
    assert "longer than 2 seconds" in failure(script).message
    limited(procedure_seconds=300.0, python_memory_bytes=256 * 1024**2)
    define("    return str(len(bytearray(10 ** 9)))")
    assert "MemoryError" in failure(script).message


def test_cancelling_kills_the_process_and_nobody_else_waits(
    script: Session, define: Define, trusting: Account, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A loop that calls no SQL, and the process that the code started."""
    told = tmp_path_factory.mktemp("told") / "pids"
    define(
        "    import subprocess\n    child = subprocess.Popen(['sleep', '1000'])\n"
        f"    Path({str(told)!r}).write_text(f'{{os.getpid()}} {{child.pid}} .')\n    while True: pass"
    )
    caught: list[str] = []
    thread = threading.Thread(target=lambda: caught.append(failure(script).code))
    thread.start()
    wait_until(lambda: told.exists() and told.read_text().endswith("."), "the procedure did not start")
    other = trusting.session()
    assert other.execute("SELECT 1").rows() == [(1,)]
    other.close()
    script.cancel()
    thread.join()
    assert caught == ["000604"]
    pids = [int(word) for word in told.read_text().split()[:2]]
    wait_until(lambda: not alive(pids[0]), "the process goes on")
    wait_until(lambda: not alive(pids[1]), "what it started goes on")


def test_packages_are_those_of_the_interpreter_that_runs_procedures(
    script: Session, limited: Callable[..., None]
) -> None:
    limited(procedure_python="no-such-python")
    with pytest.raises(SnowmeltError, match="does not start"):
        script.execute(
            "CREATE PROCEDURE q() RETURNS INT LANGUAGE PYTHON HANDLER = 'main' PACKAGES = ('numpy') "
            "AS 'def main(s): return 1'"
        )
