"""`python -m snowmelt`."""

from __future__ import annotations

from snowmelt.cli.start import run

run()
