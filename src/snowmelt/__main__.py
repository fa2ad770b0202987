"""`python -m snowmelt`."""

from __future__ import annotations

from snowmelt.cli.main import app

app()
