"""The parts of the demo that need neither PostgreSQL nor Spark: what it measures, draws and concludes."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import typer
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from snowmelt.cli import demo
from snowmelt.cli.demo import duration
from snowmelt.cli.main import app
from snowmelt.demo import closing, stopwatch, view
from snowmelt.demo.checks import DemoCheck, compared
from snowmelt.demo.running import DemoOptions
from snowmelt.demo.snapshot import CityRevenue, DemoSnapshot, Latency, TableStatus, TaskStatus
from snowmelt.demo.stopwatch import Percentiles, ProcessingStep, StopwatchMark
from tools import diagram

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def lasting(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def table(name: str, lag: float, actions: tuple[str, ...] = ("FULL", "INCREMENTAL", "NO_DATA")) -> TableStatus:
    counts = {action: actions.count(action) for action in actions}
    return TableStatus(name, "staging", lasting(lag), lasting(5), 0.97, actions, counts, lasting(0.4))


SNAPSHOT = DemoSnapshot(
    phase="the shop is open",
    elapsed=lasting(42),
    duration=lasting(60),
    connector="STREAMING",
    read=2_500,
    committed=8_123,
    landed=8_101,
    rates=(10, 20, 30, 120, 110, 100),
    tables=(table("ORDERS", 2.3), table("REVENUE", 6.5, ("INCREMENTAL",) * 70)),
    task=TaskStatus("PARSE_CUSTOMERS", 4, False, lasting(1.1)),
    latencies=(
        Latency("RAW_CHANGES", Percentiles(lasting(0.2), lasting(0.3), lasting(0.4))),
        Latency("REVENUE", None),
    ),
    revenue=(CityRevenue("Bern", Decimal("12345.50")), CityRevenue("Ulm", Decimal("99.00"))),
    errors=(),
)


def printed(*shown: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    for item in shown:
        console.print(item)
    return console.export_text()


def drawn(snapshot: DemoSnapshot, width: int) -> list[str]:
    return printed(view.picture(snapshot), width=width).splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_the_picture_fits_and_says_what_is_going_on(width: int) -> None:
    lines = drawn(SNAPSHOT, width)
    assert max(map(len, lines)) <= width and len(lines) <= 24
    text = "\n".join(lines)
    counted = ("8,101 of 8,123 changes", "0:42 of 1:00", "4 runs", "no errors")
    for expected in (*counted, "6.5 s / 5 s", "97%", "70●", "12,345.50"):
        assert expected in text
    assert "…" not in "".join(lines[:-1]), "nothing is cut off"


def test_errors_take_the_place_of_the_legend() -> None:
    text = "\n".join(drawn(replace(SNAPSHOT, errors=("REVENUE: FAILED division by zero",), revenue=()), 80))
    assert "✗ REVENUE: FAILED division by zero" in text
    assert "no errors" not in text


def test_a_line_for_those_without_a_terminal() -> None:
    line = view.line(SNAPSHOT)
    assert "\n" not in line
    assert "8,101 landed" in line and "revenue=6.5 s" in line and "p95 to raw_changes 0.3 s" in line


def test_a_change_is_seen_where_it_is_first_counted() -> None:
    commits = [StopwatchMark(3, at(1)), StopwatchMark(4, at(2)), StopwatchMark(9, at(3))]
    landed = stopwatch.landed(commits, [StopwatchMark(2, at(1.1)), StopwatchMark(4, at(2.5))])
    assert [(item.changes, item.visible) for item in landed] == [(3, at(2.5)), (1, at(2.5))]
    refreshed = stopwatch.onward(
        landed, [ProcessingStep(at(2.4), at(2.9)), ProcessingStep(at(3), at(5)), ProcessingStep(at(6), at(7))]
    )
    assert {item.visible for item in refreshed} == {at(5)}
    assert stopwatch.onward(landed, [ProcessingStep(at(2), at(9))]) == []


def test_percentiles_count_changes_and_not_commits() -> None:
    one_slow_commit = [stopwatch.Journey(1, at(0), at(9)), stopwatch.Journey(99, at(0), at(1))]
    assert stopwatch.percentiles(one_slow_commit) == Percentiles(lasting(1), lasting(1), lasting(1))
    assert stopwatch.percentiles([]) is None


def test_rows_are_compared_by_value_whatever_their_order() -> None:
    here = [(1, "a", Decimal("1.50")), (2, "b", Decimal(3))]
    assert compared("t", here, [(2, "b", Decimal("3.00")), (1, "a", Decimal("1.5"))]).passed
    missing = compared("t", here, [*here, (3, "c", Decimal(1))])
    assert not missing.passed and "1 missing, 0 unexpected" in missing.detail
    twice = compared("t", [*here, here[0]], here)
    assert not twice.passed and "0 missing, 1 unexpected" in twice.detail


def test_the_verdict_names_what_is_wrong(tmp_path: Path) -> None:
    wrong = DemoCheck("orders equals its query", False, "1 missing")
    text = printed(
        closing.verdict([wrong]), closing.measured(SNAPSHOT), closing.ways_on(tmp_path, "snowmelt"), width=200
    )
    assert "something is wrong" in text and "✗ orders equals its query" in text
    assert "p50 0.2 s, p95 0.3 s, p99 0.4 s" in text
    assert "snowmelt serve --data" in text


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), (" 2M ", 120)])
def test_durations(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "0s", "-3s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        duration(text)


def test_the_diagram_in_the_documentation_is_the_one_that_is_drawn() -> None:
    assert diagram.TARGET.read_text(encoding="utf-8") == diagram.render()


@pytest.mark.parametrize(
    ("arguments", "seconds"), [([], 60), (["--for", "1.5m"], 90), (["--for", "never"], None)], ids=str
)
def test_how_long_it_lasts(
    arguments: list[str], seconds: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is called: by itself, and with a length that is one or is none."""
    plans: list[DemoOptions] = []
    monkeypatch.setattr(demo, "run_demo", lambda _console, plan, _settings: plans.append(plan) or 0)
    result = CliRunner().invoke(app, ["demo", "--data", str(tmp_path), *arguments])
    assert [plan.duration for plan in plans] == ([] if seconds is None else [timedelta(seconds=seconds)])
    assert result.exit_code == (2 if seconds is None else 0), result.output
