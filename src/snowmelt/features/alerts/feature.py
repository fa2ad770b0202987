"""Alerts."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.alerts.kind import KIND
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.alerts import sql_functions

FEATURE = Feature(
    "alerts",
    functions=lambda: sql_functions.FUNCTIONS,
    kinds=(KIND,),
)
