"""Table functions over the history of statements, versions and warehouses."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.runtime import costs, histories
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.table_functions import Arguments, TableFunction
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _query_history(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    return histories.queries(run, _range(run, arguments), limit=arguments.limit(100))


def _by_session(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    session_id = arguments.text("SESSION_ID") or run.session.id
    return histories.queries(run, _range(run, arguments), limit=arguments.limit(100), session_id=session_id)


def _by_user(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    user = arguments.identifier("USER_NAME") or run.session.user
    return histories.queries(run, _range(run, arguments), limit=arguments.limit(100), user=user)


def _by_warehouse(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    warehouse = arguments.identifier("WAREHOUSE_NAME") or run.session.warehouse
    return histories.queries(run, _range(run, arguments), limit=arguments.limit(100), warehouse=warehouse)


def _range(run: Run, arguments: Arguments) -> histories.EndTimes:
    start, end = arguments.instant("END_TIME_RANGE_START"), arguments.instant("END_TIME_RANGE_END")
    oldest = run.now - timedelta(days=histories.QUERY_DAYS)
    for instant in (start, end):
        if instant is not None and instant < oldest:
            raise errors.SnowmeltError(
                "001018", "22023", f"Cannot retrieve data from more than {histories.QUERY_DAYS} days ago"
            )
    return histories.EndTimes(start, end)


def _table_versions(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    return histories.versions(run, arguments.text("TABLE_NAME") or "", arguments.instant("START_TIME"))


_QUERY_ARGUMENTS = (
    "END_TIME_RANGE_START", "END_TIME_RANGE_END", "RESULT_LIMIT", "INCLUDE_CLIENT_GENERATED_STATEMENT",
)  # fmt: skip


FUNCTIONS: tuple[TableFunction, ...] = (
    TableFunction("QUERY_HISTORY", _QUERY_ARGUMENTS, histories.QUERY_COLUMNS, _query_history),
    TableFunction("QUERY_HISTORY_BY_SESSION", ("SESSION_ID", *_QUERY_ARGUMENTS), histories.QUERY_COLUMNS, _by_session),
    TableFunction("QUERY_HISTORY_BY_USER", ("USER_NAME", *_QUERY_ARGUMENTS), histories.QUERY_COLUMNS, _by_user),
    TableFunction(
        "QUERY_HISTORY_BY_WAREHOUSE", ("WAREHOUSE_NAME", *_QUERY_ARGUMENTS), histories.QUERY_COLUMNS, _by_warehouse
    ),
    TableFunction(
        "TABLE_VERSION_HISTORY",
        ("TABLE_NAME", "START_TIME"),
        histories.VERSION_COLUMNS,
        _table_versions,
        required=1,
        about="TABLE_NAME",
    ),
    TableFunction(
        "WAREHOUSE_METERING_HISTORY",
        ("DATE_RANGE_START", "DATE_RANGE_END", "WAREHOUSE_NAME"),
        costs.METERING_COLUMNS,
        costs.metering_history,
        required=1,
        about="WAREHOUSE_NAME",
    ),
)
