"""Tables for readers of Iceberg."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.iceberg import sql_functions

FEATURE = Feature("iceberg", functions=lambda: sql_functions.FUNCTIONS)
