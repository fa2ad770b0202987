"""Java threads of tasks are stopped wherever they are, as may happen to those of cancelled statements.

What that breaks in Spark's process (a task that no thread is at, a class that is never initialized again) is noticed:
statements go on in another process, and none waits for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.application import APPLICATION, Life
from snowmelt.engine.errors import Fault, fault_of
from snowmelt.runtime.account import Account
from tests.conftest import SPARK
from tests.support.waiting import wait_until

STORM_SECONDS = 6.0
PATIENCE = 300.0
ROWS = 1_000
QUERY = "SELECT n % 3 AS k, COUNT(*) FROM numbers GROUP BY k ORDER BY k"
EXPECTED = [(0, 334), (1, 333), (2, 333)]


@pytest.fixture
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    settings = Settings(spark=SPARK, cancel_seconds=2, quick=QuickSettings(mode=QuickMode.OFF))
    with open_account(tmp_path_factory.mktemp("stopped"), settings=settings) as opened:
        make = opened.session().execute
        make(f"CREATE TABLE numbers AS SELECT SEQ4() AS n FROM TABLE(GENERATOR(ROWCOUNT => {ROWS}))")
        yield opened


def present() -> Life:
    return APPLICATION.life(lambda: None)


def stop_threads_of_tasks() -> None:
    jvm = present().session._jvm
    assert jvm is not None
    for thread in jvm.java.lang.Thread.getAllStackTraces().keySet().toArray():
        if "task launch worker" in thread.getName():
            thread.stop()


def test_statements_end_whatever_was_stopped(account: Account) -> None:
    """During the storm a statement may fail; after it none does, and none is stuck."""
    over = threading.Event()
    outcomes: list[object] = []

    def work() -> None:
        session = account.session()
        while not over.is_set():
            try:
                outcomes.append(session.execute(QUERY).rows())
            except SnowmeltError as error:
                outcomes.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    until = time.monotonic() + STORM_SECONDS
    while time.monotonic() < until:
        try:
            stop_threads_of_tasks()
        except Exception:
            # That process is being replaced.
            threading.Event().wait(0.1)
    over.set()
    worker.join(PATIENCE)
    assert not worker.is_alive(), "a statement waits for a task that no thread is at"
    assert all(one == EXPECTED for one in outcomes if isinstance(one, list))
    for _ in range(5):
        assert account.session().execute(QUERY).rows() == EXPECTED


def test_who_waits_for_an_answer_of_nobody_is_cancelled_too(account: Account) -> None:
    """Where the thread in Java is gone that should have answered, the process is replaced: it ends the waiting."""
    account.session().execute(QUERY)
    engine, life, tag = account.engine, present(), "nobody-answers"
    restarts, over = engine.health().restarts, threading.Event()

    def wait() -> None:
        with engine.spark._halting.driving(life.session, tag):
            over.wait(PATIENCE)

    waiting = threading.Thread(target=wait)
    waiting.start()
    engine.spark._tags.append(tag)
    try:
        wait_until(lambda: bool(engine.cancel(tag)) or engine.health().restarts > restarts, engine.health)
    finally:
        over.set()
        waiting.join()
    assert account.session().execute(QUERY).rows() == EXPECTED


def test_a_class_that_is_never_initialized_again_is_the_process_fault() -> None:
    damaged = "scala.MatchError: java.lang.NoClassDefFoundError: Could not initialize class org.apache.spark.Some$"
    assert fault_of(Exception(damaged)) is Fault.DAMAGED
    stopped = f"{damaged}\nCaused by: java.lang.ExceptionInInitializerError: Exception java.lang.ThreadDeath"
    assert fault_of(Exception(stopped)) is Fault.DAMAGED
    full = "java.lang.VirtualMachineError: Out of space in CodeCache for adapters"
    assert fault_of(Exception(full)) is Fault.DAMAGED
    assert fault_of(Exception("java.lang.ThreadDeath")) is Fault.HALTED
    assert fault_of(Exception("java.lang.NoClassDefFoundError: org/postgresql/Driver")) is None
