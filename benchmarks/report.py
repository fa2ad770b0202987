"""What came out, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.measuring import Measure, Outcome, Samples


@dataclass(frozen=True, slots=True)
class Finished:
    """One benchmark that ran, or failed to."""

    name: str
    title: str
    seconds: float
    outcome: Outcome | None
    error: str | None = None

    @property
    def sound(self) -> bool:
        """It ran, and both sides gave the same results."""
        return self.outcome is not None and not self.outcome.differences


def as_json(machine: Mapping[str, Any], settings: Mapping[str, Any], finished: list[Finished]) -> dict[str, Any]:
    return {
        "machine": dict(machine),
        "settings": dict(settings),
        "benchmarks": [_benchmark(item) for item in finished],
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _benchmark(item: Finished) -> dict[str, Any]:
    outcome = item.outcome or Outcome(())
    return {
        "name": item.name,
        "title": item.title,
        "seconds": round(item.seconds, 1),
        "error": item.error,
        "facts": dict(outcome.facts),
        "aims": [{"aim": aim.text, "measured": aim.measured, "met": aim.met} for aim in outcome.aims],
        "measures": [_measure(measure) for measure in outcome.measures],
    }


def _measure(measure: Measure) -> dict[str, Any]:
    quartiles = measure.ratio_quartiles
    return {
        "name": measure.name,
        "snowmelt": _samples(measure.snowmelt),
        "plain": _samples(measure.plain) if measure.plain is not None else None,
        "ratio": _rounded(measure.ratio),
        "ratio_quartiles": [_rounded(value) for value in quartiles] if quartiles is not None else None,
        "same_result": measure.difference is None,
        "difference": measure.difference,
    }


def _samples(samples: Samples) -> dict[str, Any]:
    return {
        "unit": "ms",
        "median": _rounded(samples.median),
        "p95": _rounded(samples.p95),
        "max": _rounded(samples.maximum),
        "samples": [_rounded(value) for value in samples.values],
        "warmup": [_rounded(value) for value in samples.warmup],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# -- terminal -----------------------------------------------------------------------------------------------------


def show(console: Console, item: Finished) -> None:
    """One benchmark as a table, its aims below."""
    if item.outcome is None:
        console.print(f"[bold]{escape(item.title)}[/]  [red]failed:[/] {escape(item.error or '')}\n")
        return
    console.print(_table(item.title, item.outcome))
    facts = ", ".join(f"{name} {value}" for name, value in item.outcome.facts.items())
    if facts:
        console.print(f"[dim]{escape(facts)}[/]")
    for aim in item.outcome.aims:
        verdict = "[green]met[/]" if aim.met else "[yellow]not met[/]"
        console.print(f"aim: {escape(aim.text)}: {escape(aim.measured)}, {verdict}")
    for difference in item.outcome.differences:
        console.print(f"[red]results differ:[/] {escape(difference)}")
    console.print()


def _table(title: str, outcome: Outcome) -> Table:
    """Milliseconds: median, 95th percentile and first warm-up round of each side, then Snowmelt over plain Spark."""
    compared = any(measure.plain is not None for measure in outcome.measures)
    table = Table(
        title=f"{title}, milliseconds", title_justify="left", title_style="bold", header_style="dim",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    table.add_column("", no_wrap=True)
    headings = ["Snowmelt", "p95", "first"] if compared else ["median", "p95", "max", "first"]
    if compared:
        headings += ["plain", "p95", "first", "ratio", "mid half", "same"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for measure in outcome.measures:
        table.add_row(measure.name, *(_row(measure) if compared else _row_alone(measure.snowmelt)))
    return table


def _row(measure: Measure) -> list[str]:
    cells = [_ms(measure.snowmelt.median), _ms(measure.snowmelt.p95), _first(measure.snowmelt)]
    if measure.plain is None or measure.ratio is None or measure.ratio_quartiles is None:
        return cells
    low, high = measure.ratio_quartiles
    same = "yes" if measure.difference is None else "[red]no[/]"
    return [
        *cells, _ms(measure.plain.median), _ms(measure.plain.p95), _first(measure.plain),
        f"{measure.ratio:.2f}", f"{low:.2f}-{high:.2f}", same,
    ]  # fmt: skip


def _row_alone(samples: Samples) -> list[str]:
    return [_ms(samples.median), _ms(samples.p95), _ms(samples.maximum), _first(samples)]


def _first(samples: Samples) -> str:
    return _ms(samples.warmup[0]) if samples.warmup else ""


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"
