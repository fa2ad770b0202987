"""`snowmelt check`: is every dynamic table what its query gives?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.opening import OpenedSession
from snowmelt.core.names import quote
from snowmelt.runtime.results import Result

EXIT_DIFFERENT = 1


def run_check(execute: Callable[[str], Result], console: Console, name: str | None) -> int:
    """Checks one table, or all of the account; 1 when one of them differs from its query."""
    names = [name] if name is not None else _all(execute)
    if not names:
        console.print("There are no dynamic tables.")
        return 0
    different = 0
    for item in names:
        verdict = _checked(execute, item)
        different += not verdict["equal"]
        _show(console, verdict)
    return EXIT_DIFFERENT if different else 0


def _all(execute: Callable[[str], Result]) -> list[str]:
    """The tables that can be checked: those that were refreshed once."""
    result = execute("SHOW DYNAMIC TABLES IN ACCOUNT")
    indexes = {column.name: index for index, column in enumerate(result.columns)}
    parts = [indexes[name] for name in ("database_name", "schema_name", "name")]
    return [
        ".".join(quote(row[index]) for index in parts)
        for row in result.rows()
        if row[indexes["data_timestamp"]] is not None
    ]


def _checked(execute: Callable[[str], Result], name: str) -> dict[str, Any]:
    literal = name.replace("\\", "\\\\").replace("'", "''")
    verdict: dict[str, Any] = json.loads(execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{literal}')").rows()[0][0])
    return verdict


def _show(console: Console, verdict: dict[str, Any]) -> None:
    word = "[green]equal[/green]" if verdict["equal"] else "[red]different[/red]"
    console.print(f"{verdict['table']}  {word}  {verdict['actual_rows']} rows as of {verdict['data_timestamp']}")
    if verdict["equal"]:
        return
    console.print(f"  missing: {verdict['missing_rows']}, unexpected: {verdict['unexpected_rows']}")
    rows = verdict["differences"]
    shown = Table(*rows[0]["row"], "expected", "actual")
    for item in rows:
        values = ["NULL" if value is None else value for value in item["row"].values()]
        shown.add_row(*values, str(item["expected"]), str(item["actual"]))
    console.print(shown)


def check(
    name: Annotated[str | None, typer.Argument(help="A dynamic table; all of them if none is given.")] = None,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Recompute dynamic tables at their data timestamp and compare. The exit code is 1 when one differs."""

    def work() -> int:
        with OpenedSession(data, url, settings_of(data, config)) as session:
            return run_check(session.execute, output_console(), name)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(check)
