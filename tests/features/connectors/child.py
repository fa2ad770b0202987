"""An account whose connectors run until the process is killed: `python -m tests.features.connectors.child DATA`."""

from __future__ import annotations

import sys
import threading

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.connectors.service import Connectors
from tests.conftest import SPARK


def main() -> None:
    account = open_account(sys.argv[1], settings=Settings(spark=SPARK))
    account.services[Connectors].start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
