"""Observing: freshness, availability, costs and metrics."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.observing import costs as object_costs
from snowmelt.features.observing import functions as observing
from snowmelt.features.observing.service import Observing
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction


def _begin(account: Account) -> None:
    observing = account.services.add(Observing(account))
    account.events.statement_recorded.subscribe(observing.query_ended)
    account.events.refresh_ended.subscribe(observing.refresh_ended)
    account.events.task_ended.subscribe(observing.task_ended)
    account.services[Upkeep].finished.subscribe(observing.upkeep_done)


def _stop(account: Account, times: StopTimes) -> None:
    account.services[Observing].stop()


FEATURE = Feature(
    "observing",
    system_functions={
        "SYSTEM$COST_REPORT": SystemFunction(0, 2, types.VARCHAR, object_costs.report),
    },
    table_functions=(
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
    begin=_begin,
    stop=_stop,
)
