"""`snowmelt plan` and `snowmelt apply`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from snowmelt.cli.output import Format, progress
from snowmelt.projects.applying import apply_plan
from snowmelt.projects.catalog import Catalog, Execute, home_of
from snowmelt.projects.config import load_config
from snowmelt.projects.loading import load
from snowmelt.projects.plan import Action, PlanStep, ProjectPlan, make_plan

EXIT_CHANGES = 2
_STYLES = {
    Action.CREATE: "green", Action.ALTER: "yellow", Action.REPLACE: "yellow", Action.REINITIALIZE: "magenta",
    Action.DROP: "red",
}  # fmt: skip


def planned(execute: Execute, folder: Path, database: str | None, schema: str | None) -> tuple[ProjectPlan, Catalog]:
    config = load_config(folder, database=database, schema=schema)
    home = home_of(execute, config.database, config.schema_name, config.warehouse)
    catalog = Catalog(execute, home)
    definitions = load(folder, config, home, catalog.columns_of)
    return make_plan(config, definitions, catalog), catalog


def run_plan(plan: ProjectPlan, form: Format, console: Console) -> int:
    """Shows the plan; 2 when it changes something."""
    _write(plan, form, console)
    return EXIT_CHANGES if plan.steps else 0


def run_apply(
    plan: ProjectPlan,
    catalog: Catalog,
    form: Format,
    console: Console,
    *,
    allow_drop: bool,
    confirm: Callable[[str], bool],
) -> int:
    """Shows the plan and carries it out."""
    if form is Format.TABLE:
        _write(plan, form, console)
    if plan.destructive and not allow_drop:
        names = ", ".join(f"{step.action} {step.name}" for step in plan.destructive)
        allow_drop = confirm(f"Data will be lost: {names}. Go on?")

    def announce(step: PlanStep, number: int, count: int) -> None:
        if form is Format.TABLE:
            console.print(Text(f"{number}/{count} {step.action} {step.name}"))

    with progress("applying"):
        apply_plan(plan, catalog, allow_drop=allow_drop, announce=announce)
    if form is Format.TABLE:
        console.print(f"Applied {len(plan.steps)} changes." if plan.steps else "Nothing was changed.")
    else:
        _write(plan, form, console)
    return 0


def _write(plan: ProjectPlan, form: Format, console: Console) -> None:
    if form is Format.JSON:
        console.file.write(json.dumps(plan.as_json(), ensure_ascii=False, indent=2) + "\n")
        return
    console.print(Text(f"Project {plan.project}"))
    if not plan.steps:
        console.print(f"Nothing to do: {plan.unchanged} objects are as they are defined.")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold cyan")
    for name in ("action", "object", "why", "cost"):
        table.add_column(name, overflow="fold")
    for step in plan.steps:
        table.add_row(
            Text(step.action, style=_STYLES[step.action]),
            Text(f"{step.kind.lower()} {step.name}"),
            Text("\n".join(step.reasons)),
            Text(step.cost),
        )
    console.print(table)
    console.print(f"{len(plan.steps)} to change, {plan.unchanged} as they are defined.")
