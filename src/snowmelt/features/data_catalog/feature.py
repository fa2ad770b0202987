"""The data catalog: a snapshot of everything, and searching it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.data_catalog import sql_functions

FEATURE = Feature("data_catalog", functions=lambda: sql_functions.FUNCTIONS)
