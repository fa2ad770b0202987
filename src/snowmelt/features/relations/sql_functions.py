"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.features.relations import (
    control_functions,
    history_functions,
)
from snowmelt.runtime.feature import SqlFunctions

FUNCTIONS = SqlFunctions(
    system=control_functions.FUNCTIONS,
    tables=history_functions.FUNCTIONS,
)
