"""Where the program starts, before anything heavy is imported."""

from __future__ import annotations

import sys

from snowmelt.cli.imports import import_quickly

_LIGHT = {"serve": "snowmelt.cli.serving"}
"""Commands that do not wait for the imports of all others, and where they are."""


def run() -> None:
    """Runs the command that the arguments name."""
    wanted = next(iter(sys.argv[1:]), "")
    import_quickly(_LIGHT.get(wanted, "snowmelt.cli.main")).app()
