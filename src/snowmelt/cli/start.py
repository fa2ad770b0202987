"""Where the program starts."""

from __future__ import annotations

from snowmelt.cli.imports import import_quickly


def run() -> None:
    """Runs the command that the arguments name."""
    import_quickly("snowmelt.cli.main").app()
