"""What every command does: read the settings, and turn errors into messages and exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from snowmelt.core.config import Settings, load_settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.logs import configure_logging

EXIT_SQL_ERROR = 1
EXIT_CONFIGURATION = 3
CONFIGURATION_CODE = "370001"
DATA = Path("snowmelt-data")
"""Where data is if nobody says otherwise."""
DataOption = Annotated[Path, typer.Option("--data", help="Data directory (made on first use).", envvar="SNOWMELT_DATA")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Configuration file instead of snowmelt.toml.")]


def settings_of(data: Path, config: Path | None) -> Settings:
    settings = load_settings(data, file=config)
    configure_logging(settings.log_level, as_json=settings.log_json)
    return settings


def guarded(work: Callable[[], int]) -> int:
    """Runs a command; errors go to standard error in one piece, and into the exit code."""
    try:
        return work()
    except SnowmeltError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(str(error), style="red", markup=False)
        return EXIT_CONFIGURATION if error.code == CONFIGURATION_CODE else EXIT_SQL_ERROR
    except OSError as error:
        if error.filename is None:
            raise
        # A file that somebody named: their mistake, and not one of the program.
        message = f"{CONFIGURATION_CODE} (F0000): {error.filename} can't be read or written: {error.strerror}."
        Console(stderr=True, soft_wrap=True, highlight=False).print(message, style="red", markup=False)
        return EXIT_CONFIGURATION
    except KeyboardInterrupt:
        return 130
