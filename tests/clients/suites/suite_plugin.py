"""A plugin for pytest in the clients' environments, for suites that others wrote: how each test ended, and plain HTTP.

Each line of the file that SNOWMELT_OUTCOMES names is a test that is done.
"""

import json
import os
from pathlib import Path
from typing import Any

try:
    from snowflake.connector.connection import SnowflakeConnection
except ImportError:
    SnowflakeConnection = None


def pytest_configure() -> None:
    """Some suites have no way to say that the server is reached without TLS."""
    if SnowflakeConnection is None:
        return
    connect = SnowflakeConnection.__init__

    def over_http(self: Any, *given: Any, **named: Any) -> None:
        named.setdefault("protocol", "http")
        connect(self, *given, **named)

    SnowflakeConnection.__init__ = over_http


def pytest_runtest_logreport(report: Any) -> None:
    if report.outcome == "passed" and report.when != "call":
        return
    outcome = "expected" if hasattr(report, "wasxfail") else report.outcome
    line = {"test": report.nodeid, "outcome": outcome, "when": report.when, "why": _why(report)}
    with Path(os.environ["SNOWMELT_OUTCOMES"]).open("a", encoding="utf-8") as told:
        told.write(json.dumps(line) + "\n")


def _why(report: Any) -> str:
    if report.outcome == "skipped":
        return str(report.longrepr[-1]) if isinstance(report.longrepr, tuple) else str(report.longrepr)[-300:]
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr or "")[-2000:]
