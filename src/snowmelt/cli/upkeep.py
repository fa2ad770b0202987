"""`snowmelt upkeep`: what the server does in the background, now."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.opening import OpenedSession
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


def upkeep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what there is to do, and do nothing.")] = False,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Put small files together, and remove files, versions and histories beyond their retention, now."""

    def work() -> int:
        with OpenedSession(data, url, settings_of(data, config)) as session:
            return run_upkeep(session.execute, output_console(), dry_run=dry_run)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(upkeep)
