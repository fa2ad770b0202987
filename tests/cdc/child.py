"""An account whose connectors run until the process is killed: `python -m tests.cdc.child DATA`."""

from __future__ import annotations

import sys
import threading

from snowmelt.core.config import Settings
from snowmelt.service.account import Account
from tests.conftest import SPARK


def main() -> None:
    account = Account.open(sys.argv[1], settings=Settings(spark=SPARK))
    account.connectors.start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
