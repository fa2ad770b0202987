"""`snowmelt upkeep`: what the server does in the background, now."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from snowmelt.runtime.results import Result


def run_upkeep(execute: Callable[[str], Result], console: Console, *, dry_run: bool) -> int:
    """Exit code 1 when a job failed. One that waits for somebody who uses a table is done later."""
    statement = "SELECT SYSTEM$UPKEEP_PLAN()" if dry_run else "CALL SYSTEM$UPKEEP()"
    jobs: list[dict[str, Any]] = json.loads(execute(statement).rows()[0][0])
    if not jobs:
        console.print("Nothing to do.")
        return 0
    table = Table("job", "table", "files", "bytes", "records", "outcome", box=SIMPLE_HEAD, pad_edge=False)
    for job in jobs:
        outcome = " ".join(part for part in (job.get("outcome", "planned").lower(), job.get("message")) if part)
        numbers = [f"{job[name]:,}" if job.get(name) else "" for name in ("files", "bytes", "records")]
        table.add_row(job["job"], job.get("name") or "", *numbers, outcome)
    console.print(table, markup=False)
    return int(any(job.get("outcome") == "FAILED" for job in jobs))
