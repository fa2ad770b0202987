"""The options of `snowmelt demo`."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.consoles import output_console
from snowmelt.cli.guarding import guarded
from snowmelt.core.config import load_settings
from snowmelt.core.logs import configure_logging
from snowmelt.demo.running import DemoOptions, DemoStore, run_demo

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def duration(text: str) -> timedelta:
    """`90`, `90s`, `1.5m`."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or float(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is not a duration. Write 90s or 2m.")
    return timedelta(seconds=float(found[1]) * _SECONDS[found[2] or "s"])


def called_as() -> str:
    """How the user calls this program: by its path where the shell would not find it, as after `make demo`."""
    path = Path(sys.argv[0])
    found = shutil.which("snowmelt")
    unknown = found is None or not path.exists() or not path.samefile(found)
    return str(path) if path.name == "snowmelt" and unknown else "snowmelt"


def demo(
    data: Annotated[Path, typer.Option("--data", help="Folder that keeps the demo's data.")] = Path("snowmelt-demo"),
    length: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long the shop is open: 90s, 2m.")
    ] = "60s",
    rate: Annotated[float, typer.Option(help="Transactions a second in the shop.", min=0.1, max=1000)] = 40,
    store: Annotated[
        DemoStore, typer.Option(help="Where the tables lie: on disk, or in an S3 server that is started for it.")
    ] = DemoStore.DISK,
) -> None:
    """A live PostgreSQL shop: captured, kept as a dimension, summed up, watched, and checked at the end."""
    lasting = duration(length)

    def work() -> int:
        settings = load_settings(data)
        # What goes wrong is part of the picture, which lines of a log would tear apart.
        level = settings.log_level if "log_level" in settings.model_fields_set else "ERROR"
        configure_logging(level, as_json=settings.log_json)
        return run_demo(output_console(), DemoOptions(data, lasting, rate, called_as(), store), settings)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(demo)
