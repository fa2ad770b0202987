"""`snowmelt`: the program, which imports a command when it is called.

All commands and their texts are listed here, so that `--help` and a shell's completion import none of them.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from snowmelt.cli.imports import import_quickly
from snowmelt.core.version import VERSION

COMMANDS = {
    "sql": ("sql", "Run SQL: -q, -f, standard input, or an interactive prompt."),
    "check": ("check", "Recompute dynamic tables at their data timestamp and compare."),
    "cost": ("cost", "What dynamic tables cost a day, what full refreshes would have cost, and what to change."),
    "upkeep": (
        "upkeep", "Put small files together, and remove files, versions and histories beyond their retention, now.",
    ),
    "forget": ("forget", "Forget a person: show where they are found; with --confirm remove it all, and prove it."),
    "lineage": ("lineage", "Show where a table or a column comes from, or what would be hit if it changed."),
    "plan": ("projects", "Show how a folder of definitions differs from the catalog."),
    "apply": ("projects", "Make the catalog what a folder of definitions says."),
    "serve": ("serving", "Serve a data directory to Snowflake's clients until stopped with Ctrl-C."),
    "demo": (
        "demo", "A live PostgreSQL shop: captured, kept as a dimension, summed up, watched, and checked at the end.",
    ),
    "lint": ("lint", "Look for anti-patterns in SQL, designs, or a running account."),
    "build": ("build", "Write the project of a design."),
    "backfill": (
        "backfill", "Replace the rows of a table in a range by what a table or query gives for it, chunk by chunk.",
    ),
    "connector": ("connectors", "Capture the changes of a database."),
    "contract": ("contracts", "Data contracts: lint, test, diff, apply, export."),
    "catalog": ("data_catalog", "Find data products, contracts, tables and columns."),
    "quality": ("quality", "Check the quality of tables."),
    "monitoring": ("monitoring", "Watch a server with Prometheus and Grafana."),
    "design": ("design", "Design a pipeline: a description or requirements in, decisions, SQL and a document out."),
    "mcp": (
        "mcp", "Serve design, lint, playbooks, lineage and SQL as tools of the Model Context Protocol, over stdio.",
    ),
    "playbook": ("playbooks", "Playbooks: probes, steps, checkpoints, and a way back."),
}  # fmt: skip
"""Each command's module in this package, whose `add_to` adds it, and the first sentence of its text."""


class Program(TyperGroup):
    """Knows the commands by name and text, and has the real one when its name is read."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and _imported(str(name)), rest


def _program(group: type[TyperGroup]) -> typer.Typer:
    return typer.Typer(cls=group, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _imported(name: str) -> Any:
    """The command itself, in a program that has nothing but its module's."""
    program = _program(TyperGroup)
    program.callback()(lambda: None)
    import_quickly(f"snowmelt.cli.{COMMANDS[name][0]}").add_to(program)
    return get_group(program).commands[name]


app = _program(Program)


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    origin: Annotated[bool, typer.Option("--origin", help="Print what pip can install it from, and stop.")] = False,
) -> None:
    """Snowflake-style SQL and pipelines on your own Spark and Delta Lake."""
    if version:
        typer.echo(f"snowmelt {VERSION}")
        raise typer.Exit
    if origin:
        typer.echo(import_quickly("snowmelt.core.origin").installed_from())
        raise typer.Exit


for _name, (_, _text) in COMMANDS.items():
    app.command(_name, help=_text)(lambda: None)
