"""A snapshot as people see it: a live picture in a terminal, a line of text everywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich import box
from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from snowmelt.demo.snapshot import DemoSnapshot, Latency, TableStatus, TaskStatus

_FLOW = (
    ("PostgreSQL ▶ ", "raw_changes", " ┬▶ stream ▸ task ▶ ", "customers", " ┐"),
    (" " * 25 + "└▶ ", "orders", ", ", "order_lines", " ──────┴▶ ", "sales", " ▶ ", "revenue"),
)
_SPARKS = "▁▂▃▄▅▆▇█"
_ACTIONS = {
    "INCREMENTAL": ("●", "green"),
    "NO_DATA": ("·", "dim"),
    "FULL": ("■", "yellow"),
}
_FAILED = ("✗", "bold red")
_SHOWN_ERRORS = 3
_LAG_BAR = 8
_WIDEST = 104
_REVENUE_BAR = 12
_DOTS = 8


def picture(snapshot: DemoSnapshot) -> RenderableType:
    """Everything, in at most 24 lines of 80 characters."""
    return Constrain(Group(_head(snapshot), _tables(snapshot.tables), _below(snapshot), _foot(snapshot)), _WIDEST)


def line(snapshot: DemoSnapshot) -> str:
    """The same in one line of text."""
    lags = " ".join(f"{table.name.lower()}={seconds(table.lag)}" for table in snapshot.tables)
    freshest = next((item for item in reversed(snapshot.latencies) if item.percentiles is not None), None)
    p95 = f" p95 to {freshest.table.lower()} {_p95(freshest)}" if freshest is not None else ""
    return (
        f"{snapshot.elapsed.total_seconds():4.0f} s  {snapshot.phase}: {snapshot.committed:,} committed, "
        f"{snapshot.landed:,} landed ({snapshot.rate:,.0f}/s), lag {lags}{p95}, errors {len(snapshot.errors)}"
    )


def legend() -> Text:
    """What the dots of `picture` mean."""
    found = Text()
    for name in ("INCREMENTAL", "NO_DATA", "FULL"):
        sign, style = _ACTIONS[name]
        found.append(sign, style).append(f" {name.lower()}  ", "dim")
    return found


def _head(snapshot: DemoSnapshot) -> Panel:
    flow = Text(no_wrap=True, overflow="crop")
    for number, parts in enumerate(_FLOW):
        flow.append("\n" if number else "")
        for index, part in enumerate(parts):
            flow.append(part, "bold cyan" if index % 2 else "dim")
    counts = Text.assemble(
        (_state_sign(snapshot.connector), "green" if snapshot.connector == "STREAMING" else "yellow"),
        f" {snapshot.connector.lower()}  ",
        (f"{snapshot.landed:,}", "bold"), f" of {snapshot.committed:,} changes landed  ",
        (f"{snapshot.rate:,.0f}/s ", "bold"), (_sparkline(snapshot.rates), "cyan"),
        no_wrap=True, overflow="ellipsis",
    )  # fmt: skip
    done = min(snapshot.elapsed, snapshot.duration).total_seconds()
    bar = ProgressBar(total=max(snapshot.duration.total_seconds(), 1), completed=done)
    title = f"[bold]snowmelt demo[/bold] · {snapshot.phase} · {_clock(snapshot.elapsed)} of {_clock(snapshot.duration)}"
    return Panel(Group(flow, counts, bar), title=title, title_align="left", border_style="cyan", box=box.ROUNDED)


def _tables(tables: Sequence[TableStatus]) -> Panel:
    shown = Table(box=None, pad_edge=False, expand=True, header_style="dim", padding=(0, 1, 0, 0))
    shown.add_column("", no_wrap=True)
    shown.add_column("stage", style="dim", no_wrap=True)
    shown.add_column("lag / target", no_wrap=True)
    shown.add_column("kept", justify="right", no_wrap=True)
    shown.add_column("refreshes", no_wrap=True)
    shown.add_column("took", justify="right", no_wrap=True)
    for table in tables:
        kept = Text("-" if table.within is None else f"{table.within:.0%}", style=_kept_style(table.within))
        shown.add_row(
            Text(table.name.lower(), style="bold cyan"),
            table.stage,
            _lag(table),
            kept,
            _dots(table),
            seconds(table.took),
        )
    return Panel(shown, title="dynamic tables", title_align="left", border_style="dim", box=box.ROUNDED)


def _lag(table: TableStatus) -> Text:
    if table.lag is None:
        return Text("-", style="dim")
    share = table.lag / table.target
    filled = min(_LAG_BAR, round(share * _LAG_BAR))
    style = "green" if share <= 1 else "red"
    return Text.assemble(
        ("━" * filled, style), ("─" * (_LAG_BAR - filled), "dim"), (f" {seconds(table.lag)}", style),
        (f" / {table.target.total_seconds():.0f} s", "dim"),
    )  # fmt: skip


def _below(snapshot: DemoSnapshot) -> Table:
    waits = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    waits.add_column("visible in", no_wrap=True)
    for name in ("p50", "p95", "p99"):
        waits.add_column(name, justify="right", min_width=6)
    for latency in snapshot.latencies:
        found = latency.percentiles
        values = [seconds(value) for value in ((found.p50, found.p95, found.p99) if found else (None,) * 3)]
        waits.add_row(Text(latency.table.lower(), style="cyan"), *values)
    left = Panel(waits, title="from PostgreSQL's commit", title_align="left", border_style="dim", height=6)
    right = Panel(_revenue(snapshot), title="revenue, now", title_align="left", border_style="dim", height=6)
    both = Table.grid(expand=True)
    both.add_column(ratio=1)
    both.add_column(ratio=1)
    both.add_row(left, right)
    return both


def _revenue(snapshot: DemoSnapshot) -> RenderableType:
    if not snapshot.revenue:
        return Text("…", style="dim")
    most = max(item.revenue for item in snapshot.revenue)
    shown = Table.grid(padding=(0, 1))
    shown.add_column()
    shown.add_column(width=_REVENUE_BAR)
    shown.add_column(justify="right")
    for item in snapshot.revenue[:4]:
        length = round(_REVENUE_BAR * item.revenue / most) if most else 0
        shown.add_row(Text(item.city, style="cyan"), Text("█" * length, style="blue"), f"{item.revenue:,.2f}")
    return shown


def _foot(snapshot: DemoSnapshot) -> RenderableType:
    notes = [_task(snapshot.task)] if snapshot.task is not None else []
    if not snapshot.errors:
        return Text.assemble(*notes, ("   no errors   ", "green"), legend(), no_wrap=True, overflow="ellipsis")
    shown = [Text.assemble("✗ ", error, style="red", no_wrap=True, overflow="ellipsis") for error in
             snapshot.errors[-_SHOWN_ERRORS:]]  # fmt: skip
    return Group(*notes, *shown)


def _task(task: TaskStatus) -> Text:
    now = "runs now" if task.running else f"last took {seconds(task.took)}"
    return Text.assemble("task ", (task.name.lower(), "bold cyan"), f" {task.runs} runs, {now}")


def _dots(table: TableStatus) -> Text:
    """The last refreshes, one sign each, and how many there were of each kind."""
    found = Text()
    for action in table.actions[-_DOTS:]:
        found.append(*_ACTIONS.get(action, _FAILED))
    found.append(" " * (_DOTS + 1 - min(_DOTS, len(table.actions))))
    for action, count in sorted(table.counts.items(), key=lambda item: -item[1]):
        sign, style = _ACTIONS.get(action, _FAILED)
        found.append(f"{count}{sign} ", style)
    return found


def _sparkline(values: Sequence[float]) -> str:
    most = max(values, default=0.0)
    if most <= 0:
        return ""
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int(value / most * len(_SPARKS)))] for value in values[-20:])


def _kept_style(within: float | None) -> str:
    if within is None:
        return "dim"
    return "green" if within >= 0.95 else "yellow" if within >= 0.8 else "red"


def _state_sign(state: str) -> str:
    return "●" if state in ("STREAMING", "SNAPSHOT") else "○"


def _p95(latency: Latency) -> str:
    return seconds(latency.percentiles.p95 if latency.percentiles is not None else None)


def seconds(value: timedelta | None) -> str:
    return "-" if value is None else f"{value.total_seconds():.1f} s"


def _clock(value: timedelta) -> str:
    seconds = int(value.total_seconds())
    return f"{seconds // 60}:{seconds % 60:02}"
