"""A process that forks others, each of which opens an account, says what it found, and works until it is killed.

Importing everything takes seconds, forking a process that did takes milliseconds. Nothing is opened before the fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  (pyarrow imports it at first use, which takes a second)

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings, UpkeepSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session as DatabaseSession
from tests.conftest import SPARK
from tests.crash import workload
from tests.crash.inspection import check_at_rest, contents
from tests.crash.workload import SHARED, Log, Session, Unit

UPKEEP = UpkeepSettings(
    small_files=2, vacuum_seconds=0, grace_seconds=0, orphan_hours=1e-6, history_seconds=0, query_history_days=1e-6
)
"""Everything at once, and nothing is spared."""


def main(life: Callable[[dict[str, Any]], None]) -> None:
    """Forks a process for each order that comes in; `life` is what it does."""
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _in_child(order, life)
        print(json.dumps({"pid": pid}), flush=True)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


def _in_child(order: dict[str, Any], life: Callable[[dict[str, Any]], None]) -> None:
    code = 0
    try:
        sys.stdin.close()
        # Standard output is where the parent listens.
        os.dup2(os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
        if order["kill_at"]:
            os.environ["SNOWMELT_TEST_KILL_AT"] = order["kill_at"]
        life(order)
    except BaseException:
        Path(order["error"]).write_text(traceback.format_exc())
        code = 1
    finally:
        os._exit(code)


def live(order: dict[str, Any]) -> None:
    """One life: recover, report, work."""
    settings = Settings(lock_timeout_seconds=120, spark=SPARK, upkeep=UPKEEP)
    account = open_account(order["data"], settings=settings)
    sessions = range(order["sessions"])
    setup = account.session()
    for name in SHARED:
        setup.execute(f"CREATE TABLE IF NOT EXISTS {name} {workload.COLUMNS}")
    if order["upkeep"]:
        for name in SHARED:
            setup.execute(f"ALTER TABLE {name} SET DATA_RETENTION_TIME_IN_DAYS = 0")
    setup.close()
    check_at_rest(account, whole_feed=not order["upkeep"])
    tables = contents(account)
    if order["spark"]:
        account.engine.session()
    _report(Path(order["report"]), tables)
    log = Log(Path(order["log"]))
    states = workload.views(tables, sessions)
    failures: list[str] = []
    threads = [
        threading.Thread(target=_work, args=(account, order, number, states[number], log, failures))
        for number in sessions
    ]
    for thread in threads:
        thread.start()
    if order["upkeep"]:
        _upkeep(account, threads, failures)
    for thread in threads:
        thread.join()
    if failures:
        raise AssertionError("\n".join(failures))
    if order["close"]:
        account.close()
    if order["kill_at"] is None and order["spark"]:
        os.kill(os.getpid(), signal.SIGKILL)


def _upkeep(account: Account, working: list[threading.Thread], failures: list[str]) -> None:
    """For as long as the others work, and once behind them."""
    going_on = True
    while going_on:
        going_on = any(thread.is_alive() for thread in working)
        failures += [f"{done}" for done in account.services[Upkeep].run() if done.outcome == "FAILED"]


def _report(path: Path, tables: dict[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(tables))
    draft.replace(path)


def _work(
    account: Account, order: dict[str, Any], number: int, state: workload.State, log: Log, failures: list[str]
) -> None:
    try:
        chance = random.Random(f"{order['seed']}-{order['life']}-{number}")
        first_id = order["life"] * 10_000 + number * 1_000
        session = Session(number, chance, state, first_id, spark=order["spark"], shared_only=order["shared_only"])
        database = account.session()
        for _ in range(order["units"]):
            unit = session.unit()
            log.write(number, "start", statements=unit.statements, after=unit.after)
            if _run(database, unit):
                session.state = unit.after
                log.write(number, "done")
            else:
                log.write(number, "failed")
    except Exception:
        failures.append(traceback.format_exc())


def _run(database: DatabaseSession, unit: Unit) -> bool:
    """False when the unit failed for a reason that is no defect: a deadlock with another session."""
    try:
        for statement in unit.statements:
            database.execute(statement)
    except SnowmeltError as error:
        if error.code != "000625":
            raise
        database.execute("ROLLBACK")
        return False
    return True


if __name__ == "__main__":
    main(live)
