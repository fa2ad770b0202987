"""`snowmelt plan` and `snowmelt apply`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.opening import OpenedSession
from snowmelt.cli.output import Format, is_interactive, progress
from snowmelt.projects.applying import apply_plan
from snowmelt.projects.catalog import Execute, LiveCatalog, home_of
from snowmelt.projects.config import load_config
from snowmelt.projects.loading import load
from snowmelt.projects.plan import PlanAction, PlanStep, ProjectPlan, make_plan

EXIT_CHANGES = 2
FolderArgument = Annotated[Path, typer.Argument(help="The folder with the definitions.")]
FormatOption = Annotated[Format, typer.Option("--format", help="table for people, json for programs.")]
_STYLES = {
    PlanAction.CREATE: "green", PlanAction.ALTER: "yellow", PlanAction.REPLACE: "yellow",
    PlanAction.REINITIALIZE: "magenta", PlanAction.CARRY_OVER: "yellow", PlanAction.DROP: "red",
}  # fmt: skip


def planned(
    execute: Execute, folder: Path, database: str | None, schema: str | None
) -> tuple[ProjectPlan, LiveCatalog]:
    config = load_config(folder, database=database, schema=schema)
    home = home_of(execute, config.database, config.schema_name, config.warehouse)
    catalog = LiveCatalog(execute, home)
    definitions = load(folder, config, home, catalog.columns_of)
    return make_plan(config, definitions, catalog), catalog


def run_plan(plan: ProjectPlan, form: Format, console: Console) -> int:
    """Shows the plan; 2 when it changes something."""
    _write(plan, form, console)
    return EXIT_CHANGES if plan.steps else 0


def run_apply(
    plan: ProjectPlan,
    catalog: LiveCatalog,
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


def plan(
    folder: FolderArgument = Path(),
    data: DataOption = DATA,
    url: UrlOption = None,
    form: FormatOption = Format.TABLE,
    database: Annotated[str | None, typer.Option(help="Database of the project.")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema of the project.")] = None,
    config: ConfigOption = None,
) -> None:
    """Show how a folder of definitions differs from the catalog. The exit code is 2 when it does, and 0 when not."""

    def work() -> int:
        with OpenedSession(data, url, settings_of(data, config)) as session:
            found, _ = planned(session.execute, folder, database, schema)
            return run_plan(found, form, output_console())

    raise typer.Exit(guarded(work))


def apply(
    folder: FolderArgument = Path(),
    data: DataOption = DATA,
    url: UrlOption = None,
    form: FormatOption = Format.TABLE,
    database: Annotated[str | None, typer.Option(help="Database of the project.")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema of the project.")] = None,
    allow_drop: Annotated[
        bool, typer.Option("--allow-drop", help="Drop what the project created and no longer defines.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Make the catalog what a folder of definitions says. Run again after an interruption, it goes on."""

    def confirm(question: str) -> bool:
        return is_interactive() and typer.confirm(question)

    def work() -> int:
        with OpenedSession(data, url, settings_of(data, config)) as session:
            found, catalog = planned(session.execute, folder, database, schema)
            console = output_console()
            return run_apply(found, catalog, form, console, allow_drop=allow_drop, confirm=confirm)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command()(plan)
    app.command()(apply)
