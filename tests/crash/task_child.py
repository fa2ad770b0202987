"""Processes that own an account and run a graph of tasks, once, or again and again beside writers; see child.py."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from snowmelt.accounts import open_account
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.account import Account
from tests.crash.child import main


def live(order: dict[str, Any]) -> None:
    with open_account(Path(order["data"])) as account:
        session = account.session()
        if order["once"]:
            session.execute("EXECUTE TASK r")
            return
        account.services[Tasks].start()
        for table in ("noise0", "noise1"):
            threading.Thread(target=_load, args=(account, table), daemon=True).start()
        pause = threading.Event()
        while True:
            session.execute("EXECUTE TASK r")
            pause.wait(0.02)


def _load(account: Account, table: str) -> None:
    session = account.session()
    while True:
        session.execute(f"INSERT INTO {table} VALUES (1)")


if __name__ == "__main__":
    main(live)
