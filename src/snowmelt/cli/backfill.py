"""`snowmelt backfill`: rows of a table within a range, derived again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

from snowmelt.backfill import errors as backfill_errors
from snowmelt.backfill.losses import check_may_begin
from snowmelt.backfill.model import BackfillEstimate, BackfillPlan, BackfillRequest, StreamPolicy
from snowmelt.backfill.planning import BackfillPlanner
from snowmelt.backfill.rates import measured
from snowmelt.backfill.running import Backfill, begin
from snowmelt.backfill.standing import BackfillStanding, backfills_in, standing_of
from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import DataOption, Guard, Opener, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.cli.playbooks import RUNS, RunsOption, account_of, account_text
from snowmelt.core.config import load_settings
from snowmelt.playbooks.journal import created, opened
from snowmelt.runtime.results import Executes


def backfill_command(app: typer.Typer, opener: Opener, guarded: Guard) -> None:
    """Adds the command; what opens a session and what reports errors is the caller's."""

    @app.command()
    def backfill(
        table: Annotated[str | None, typer.Argument(help="The table whose rows to replace.")] = None,
        source: Annotated[str | None, typer.Option("--from", help="Table or view with the right rows.")] = None,
        query: Annotated[Path | None, typer.Option(help="File with a SELECT that gives the right rows.")] = None,
        at: Annotated[str | None, typer.Option(help="Read --from as it was then.")] = None,
        column: Annotated[str | None, typer.Option(help="The column of the range or the keys.")] = None,
        start: Annotated[str | None, typer.Option(help="The first value of the range.")] = None,
        end: Annotated[str | None, typer.Option(help="The end of the range; this value is not part of it.")] = None,
        keys: Annotated[str | None, typer.Option(help="Values instead of a range, separated by commas.")] = None,
        keys_file: Annotated[Path | None, typer.Option(help="File with one key a line.")] = None,
        chunk: Annotated[str | None, typer.Option(help="Length of a chunk: '1 day', or a number.")] = None,
        chunk_rows: Annotated[int, typer.Option(min=1, help="Rows of a chunk, if --chunk is not given.")] = 1_000_000,
        streams: Annotated[
            StreamPolicy, typer.Option(help="refuse, or follow: consumers of streams apply deletes, too.")
        ] = StreamPolicy.REFUSE,
        refresh: Annotated[bool, typer.Option(help="Refresh the dynamic tables downstream.")] = True,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show rows, time and cost; change nothing.")] = False,
        resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a backfill.")] = None,
        undo: Annotated[str | None, typer.Option(metavar="RUN", help="Bring the old rows back.")] = None,
        force: Annotated[
            bool, typer.Option("--force", help="With --undo: even if later changes are lost. They are kept in a clone.")
        ] = False,
        accept: Annotated[str | None, typer.Option(metavar="RUN", help="Drop the old version.")] = None,
        status: Annotated[bool, typer.Option("--status", help="List backfills.")] = False,
        data: DataOption = DATA,
        url: UrlOption = None,
        runs: RunsOption = RUNS,
    ) -> None:
        """Replace the rows of a table in a range by what a table or query gives for it, chunk by chunk.

        Needs TABLE, --column, --from or --query, --start with --end or --keys. The old version stays until --accept.
        """
        chosen = [item for item in (table, resume, undo, accept, status or None) if item is not None]
        if len(chosen) != 1:
            raise typer.BadParameter("Give one of TABLE, --resume, --undo, --accept and --status.")
        if force and undo is None:
            raise typer.BadParameter("--force works only with --undo.")

        def work() -> int:
            if status:
                return _status(runs)
            if table is not None:
                listed = [*(keys.split(",") if keys else ()), *(_read(keys_file).splitlines() if keys_file else ())]
                if column is None:
                    raise backfill_errors.backfill(
                        "The column of the range or the keys is missing: give --column NAME."
                    )
                text = _read(query) if query is not None else None
                request = BackfillRequest(
                    table, source, text, at, column, start, end, tuple(listed), chunk, chunk_rows, streams, refresh
                )
                return _begin(opener, request, data, url, runs, dry_run=dry_run)
            with opened(runs, str(chosen[0])) as journal:
                where = account_of(journal.events[0]["account"], None, url)
                with opener(*where) as session:
                    running = Backfill(session.execute, journal, _standings(runs), typer.echo, time.monotonic)
                    if undo is not None:
                        running.undo(force=force)
                    elif resume is not None:
                        running.go_on()
                    else:
                        running.accept()
                    typer.echo(f"{running.standing.plan.run} is {running.standing.state}.")
            return 0

        raise typer.Exit(guarded(work))


def _begin(opener: Opener, request: BackfillRequest, data: Path, url: str | None, runs: Path, *, dry_run: bool) -> int:
    before = backfills_in(runs)
    with opener(data, url) as session:
        standings = [standing_of(events) for events in before]
        planner = BackfillPlanner(session.execute, [standing.plan.saved for standing in standings])
        plan, downstream = planner.plan(request)
        check_may_begin(session.execute, plan, standings)
        price = load_settings(data).credit_price
        estimate = planner.estimate(plan, downstream, measured(before, str(plan.name)), price)
        _show(plan, estimate)
        return 0 if dry_run else _run(session, plan, account_text(data, url), runs)


def _run(session: Executes, plan: BackfillPlan, account: str, runs: Path) -> int:
    with created(runs, plan.run) as journal:
        begin(journal, plan, account)
        typer.echo(f"backfill {plan.run}")
        Backfill(session.execute, journal, _standings(runs), typer.echo, time.monotonic).go_on()
    typer.echo(f"Finished. The old version is {plan.saved}.")
    typer.echo(f"snowmelt backfill --accept {plan.run}, or: snowmelt backfill --undo {plan.run}")
    return 0


def _standings(runs: Path) -> list[BackfillStanding]:
    return [standing_of(events) for events in backfills_in(runs)]


def _show(plan: BackfillPlan, estimate: BackfillEstimate) -> None:
    down = estimate.downstream
    rows = {
        "table": str(plan.name),
        "source": " ".join(plan.source.split()),
        "read as of": plan.pinned or "each chunk",
        "rows replaced": f"{estimate.rows_now:,}",
        "by": f"{estimate.rows_then:,}",
        "chunks": f"{estimate.chunks:,}",
        "time": f"about {estimate.seconds:,.0f} s ({estimate.basis}), refreshes {estimate.refresh_seconds:,.0f} s",
        "cost": f"about {estimate.credits:.4f} credits, {estimate.cost:.2f}",
        "refreshed after it": ", ".join(plan.leaves) or "nothing",
        "follow": ", ".join((*down.dynamic_tables, *down.views)) or "nothing",
        "streams that see it": ", ".join(down.streams) or "none",
        "do not follow": ", ".join(down.others) or "nothing",
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    output_console().print(table)


def _status(runs: Path) -> int:
    table = Table(
        Column("backfill", no_wrap=True), "table", "state", "chunks", "old version", box=SIMPLE_HEAD, pad_edge=False
    )
    for events in backfills_in(runs):
        standing = standing_of(events)
        plan = standing.plan
        done = f"{len(standing.done)} of {len(plan.chunks)}"
        table.add_row(*map(Text, (plan.run, str(plan.name), standing.state, done, plan.saved)))
    output_console().print(table)
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise backfill_errors.backfill(f"{path} can't be read: {error.strerror}.") from None


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    backfill_command(app, open_session, guarded)
