"""Procedures, functions and scripting blocks."""

from __future__ import annotations

from snowmelt.features.scripting import guard
from snowmelt.features.scripting.commands import HANDLERS, SCRIPTS
from snowmelt.runtime.feature import Feature

FEATURE = Feature(
    "scripting",
    handlers=HANDLERS,
    scripts=SCRIPTS,
    before=guard.before,
)
