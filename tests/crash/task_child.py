"""A process that owns an account and runs a graph of tasks, once, or again and again beside other writers."""

from __future__ import annotations

import itertools
import sys
import threading
from pathlib import Path

from snowmelt.service.account import Account


def live(data: Path) -> None:
    with Account.open(data) as account:
        account.tasks.start()
        for number in range(2):
            threading.Thread(target=_load, args=(account, f"noise{number}"), daemon=True).start()
        print("ready", flush=True)
        session = account.session()
        pause = threading.Event()
        for _ in itertools.count():
            session.execute("EXECUTE TASK r")
            pause.wait(0.02)


def _load(account: Account, table: str) -> None:
    session = account.session()
    while True:
        session.execute(f"INSERT INTO {table} VALUES (1)")


def once(data: Path) -> None:
    with Account.open(data) as account:
        account.session().execute("EXECUTE TASK r")


if __name__ == "__main__":
    (once if sys.argv[2:] == ["once"] else live)(Path(sys.argv[1]))
