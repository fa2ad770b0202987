"""WAREHOUSE_METERING_HISTORY: credits by warehouse and hour."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from snowmelt.core import errors, types
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.metering import hourly
from snowmelt.runtime.results import ResultColumn
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

_CREDITS = types.number(38, 9)
METERING_COLUMNS = (
    *columns("START_TIME:ts, END_TIME:ts, WAREHOUSE_NAME"),
    ResultColumn("CREDITS_USED", _CREDITS),
    ResultColumn("CREDITS_USED_COMPUTE", _CREDITS),
    ResultColumn("CREDITS_USED_CLOUD_SERVICES", _CREDITS),
)
_MONTHS = timedelta(days=180)


def metering_history(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    """One row for each hour in which a warehouse was up, within the last six months."""
    start = arguments.instant("DATE_RANGE_START")
    if start is None:
        raise errors.not_enough_arguments("WAREHOUSE_METERING_HISTORY", 1, 0)
    end = arguments.instant("DATE_RANGE_END") or run.now
    start = max(start, run.now - _MONTHS)
    wanted = arguments.identifier("WAREHOUSE_NAME")
    spent = hourly(run.account.metering.spans(start, end), start, end)
    return [
        {
            "START_TIME": hour,
            "END_TIME": hour + timedelta(hours=1),
            "WAREHOUSE_NAME": name,
            "CREDITS_USED": credits,
            "CREDITS_USED_COMPUTE": credits,
            "CREDITS_USED_CLOUD_SERVICES": Decimal(0),
        }
        for (hour, name), credits in sorted(spent.items())
        if wanted in (None, name)
    ]
