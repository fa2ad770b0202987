"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.observing import costs as object_costs
from snowmelt.features.observing import functions as observing
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$COST_REPORT": SystemFunction(0, 2, types.VARCHAR, object_costs.report),
    },
    tables=(
        TableFunction(
            "QUERY_ATTRIBUTION_HISTORY",
            object_costs.ATTRIBUTION_ARGUMENTS,
            object_costs.ATTRIBUTION_COLUMNS,
            object_costs.attribution,
        ),
        TableFunction(
            "OBJECT_COST_HISTORY", object_costs.OBJECT_ARGUMENTS, object_costs.OBJECT_COLUMNS, object_costs.by_object
        ),
        TableFunction("FRESHNESS", (), observing.FRESHNESS_COLUMNS, observing.freshness, about="NAME"),
        TableFunction(
            "FRESHNESS_HISTORY",
            observing.HISTORY_ARGUMENTS,
            observing.HISTORY_COLUMNS,
            observing.freshness_history,
            about="NAME",
        ),
        TableFunction(
            "DATA_PRODUCT_AVAILABILITY",
            observing.AVAILABILITY_ARGUMENTS,
            observing.AVAILABILITY_COLUMNS,
            observing.availability,
            about="NAME",
        ),
        TableFunction(
            "SCHEMA_DRIFT_HISTORY",
            observing.DRIFT_ARGUMENTS,
            observing.DRIFT_COLUMNS,
            observing.schema_drift,
            about="NAME",
        ),
    ),
)
