"""`snowmelt cost`: what tables cost a day, what full refreshes would have cost, and what to change."""

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
from snowmelt.core.names import literal
from snowmelt.runtime.results import Result


def run_cost(execute: Callable[[str], Result], console: Console, name: str | None, days: float) -> int:
    arguments = f"{days}" if name is None else f"{days}, {literal(name)}"
    report = json.loads(execute(f"SELECT SYSTEM$COST_REPORT({arguments})").rows()[0][0])
    for item in _printed(report):
        console.print(item, markup=False)
    return 0


def _printed(report: dict[str, Any]) -> list[Table | str]:
    """A day's cost of every dynamic table, then of everything by purpose and by warehouse, then the advice."""
    tables = Table(
        "dynamic table", "mode", "refreshes", "Spark s", "GiB read", "cost", "as full refreshes", box=SIMPLE_HEAD,
        pad_edge=False, title=f"a day, from the last {report['days']:g} at {report['credit_price']:g} a credit",
        title_justify="left",
    )  # fmt: skip
    for each in report["tables"]:
        full = each["full_cost_per_day"]
        tables.add_row(
            each["name"],
            each["mode"].lower(),
            f"{each['refreshes_per_day']:,.1f}",
            f"{each['spark_seconds_per_day']:,.1f}",
            f"{each['bytes_scanned_per_day'] / 1024**3:,.2f}",
            f"{each['cost_per_day']:.4f}",
            "unknown" if full is None else f"{full:.4f}",
        )
    found: list[Table | str] = [tables]
    for title in ("purposes", "warehouses"):
        sums = Table(title, "Spark s", "credits", "cost", box=SIMPLE_HEAD, pad_edge=False)
        for each in report[title]:
            values = (each["spark_seconds_per_day"], each["credits_per_day"], each["cost_per_day"])
            sums.add_row(each["name"].lower() if title == "purposes" else each["name"], *(f"{v:,.4f}" for v in values))
        found.append(sums)
    return found + [f"{each['name']}: {line}" for each in report["tables"] for line in each["advice"]]


def cost(
    name: Annotated[str | None, typer.Argument(help="A dynamic table; all of them if none is given.")] = None,
    days: Annotated[float, typer.Option(min=0.01, help="How many days to look back.")] = 1.0,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """What dynamic tables cost a day, what full refreshes would have cost, and what to change."""

    def work() -> int:
        with OpenedSession(data, url, settings_of(data, config)) as session:
            return run_cost(session.execute, output_console(), name, days)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(cost)
