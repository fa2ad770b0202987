"""What the demo leaves behind on the screen: the verdict, what was measured, and how to look around."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from snowmelt.demo.checks import DemoCheck
from snowmelt.demo.snapshot import DemoSnapshot
from snowmelt.demo.view import seconds

_PORT = 8085


def verdict(checks: Sequence[DemoCheck]) -> RenderableType:
    sound = all(check.passed for check in checks)
    shown = Table.grid(padding=(0, 1))
    for check in checks:
        sign = Text("✓", style="green") if check.passed else Text("✗", style="bold red")
        shown.add_row(sign, Text(check.what, style="" if check.passed else "bold red"), Text(check.detail, style="dim"))
    title = "verdict: all checks passed" if sound else "verdict: something is wrong"
    color = "green" if sound else "red"
    return Panel(shown, title=title, title_align="left", border_style=color, box=box.ROUNDED, expand=False)


def measured(last: DemoSnapshot) -> RenderableType:
    """In sentences, because this is what people quote."""
    lines = [
        Text(f"{last.committed:,} changes in {seconds(last.duration)}, beside {last.read:,} rows that were there.")
    ]
    for latency in last.latencies:
        found = latency.percentiles
        if found is not None:
            values = f"p50 {seconds(found.p50)}, p95 {seconds(found.p95)}, p99 {seconds(found.p99)}"
            lines.append(Text(f"From PostgreSQL's commit to {latency.table.lower()}: {values}."))
    table = last.tables[-1]
    if table.within is not None:
        kept = f"{table.within:.0%} of the time within its target lag of {seconds(table.target)}"
        lines.append(Text(f"{table.name.lower()} was {kept}."))
    return Group(*lines)


def ways_on(data: Path, program: str) -> RenderableType:
    """Commands to copy, each in a line of its own that is not broken."""
    sql = f"{program} sql --data {data} --database SHOP"
    serve = f"SNOWMELT_ADMIN_PASSWORD=choose-one {program} serve --data {data} --port {_PORT}"
    commands = (
        ("The tables stay. Look around", f'{sql} -q "SELECT * FROM revenue ORDER BY revenue DESC"'),
        ("Every version of a customer", f'{sql} -q "SELECT * FROM customers WHERE id = 7 ORDER BY valid_from"'),
        ("A prompt", sql),
        ("Compare every dynamic table with its query once more", f"{program} check --data {data}"),
        ("Serve them to Snowflake's own clients (docs/reference/clients.md)", serve),
    )
    shown = Text(no_wrap=True, overflow="ignore")
    for what, command in commands:
        shown.append(f"\n{what}:\n", "dim").append(f"  {command}", "cyan")
    return shown
