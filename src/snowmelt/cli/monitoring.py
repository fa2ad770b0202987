"""`snowmelt monitoring …`: what Prometheus and Grafana need to watch a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snowmelt.observe.monitoring.exporting import export as export_files


def monitoring_commands() -> typer.Typer:
    group = typer.Typer(no_args_is_help=True, help="Watch a server with Prometheus and Grafana.")

    # With one command alone typer would leave the command's name out.
    @group.callback()
    def _group() -> None:
        pass

    @group.command()
    def export(folder: Annotated[Path, typer.Argument(help="Where to write to; made if it is not there.")]) -> None:
        """Write alert rules, a dashboard and a scrape configuration."""
        for path in export_files(folder):
            typer.echo(path)

    return group


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(monitoring_commands(), name="monitoring")
