"""SYSTEM$ functions over sessions, statements and tables, and GET_DDL."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, slots, types
from snowmelt.runtime import project_objects
from snowmelt.runtime.metadata import clustering
from snowmelt.runtime.metadata.ddl_scripts import get_ddl
from snowmelt.runtime.system_functions import Arguments, SystemFunction, nanoseconds, table_argument, text
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session

_UNITS = {
    "DAYS": 86_400.0, "HOURS": 3_600.0, "MINUTES": 60.0, "SECONDS": 1.0, "MILLISECONDS": 1e-3, "MICROSECONDS": 1e-6,
    "NANOSECONDS": 1e-9,
}  # fmt: skip
_CANCEL_CHECK_SECONDS = 0.05


# -- definitions ------------------------------------------------------------------------------------------------------


def _get_ddl(run: Run, state: StateReader, arguments: Arguments) -> str:
    qualified = len(arguments) > 2 and bool(arguments[2])
    type_, name = text(arguments[0], "object_type"), text(arguments[1], "object_name")
    return get_ddl(run, state, type_, name, qualified=qualified)


# -- tables -----------------------------------------------------------------------------------------------------------


def _last_change(run: Run, state: StateReader, arguments: Arguments) -> int:
    """Nanoseconds since 1970 of the newest visible version."""
    table, _ = table_argument(run, state, text(arguments[0], "table_name"), "SYSTEM$LAST_CHANGE_COMMIT_TIME", None)
    visible = state.versions.visible(table.id)
    return nanoseconds(visible.committed_at if visible is not None else table.created_on)


def _clustering_information(run: Run, state: StateReader, arguments: Arguments) -> str:
    name = "SYSTEM$CLUSTERING_INFORMATION"
    return json.dumps(_measured(run, state, arguments, name).information(), indent=2)


def _clustering_depth(run: Run, state: StateReader, arguments: Arguments) -> Decimal:
    return Decimal(str(_measured(run, state, arguments, "SYSTEM$CLUSTERING_DEPTH").average_depth))


def _measured(run: Run, state: StateReader, arguments: Arguments, name: str) -> clustering.Clustering:
    table, definition = table_argument(run, state, text(arguments[0], "table_name"), name, None)
    given = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], str) else None
    return clustering.measure(run, state, table, definition, given)


# -- control ----------------------------------------------------------------------------------------------------------


def _wait(run: Run, _: StateReader, arguments: Arguments) -> str:
    amount = arguments[0]
    unit = text(arguments[1], "time_unit").upper() if len(arguments) > 1 else "SECONDS"
    if unit not in _UNITS:
        raise errors.invalid_value(unit, "time_unit")
    if amount is None or amount < 0:
        raise errors.invalid_value("NULL" if amount is None else str(amount), "amount")
    deadline = time.monotonic() + float(amount) * _UNITS[unit]
    with slots.waiting():
        while (left := deadline - time.monotonic()) > 0:
            run.check_cancelled()
            time.sleep(min(left, _CANCEL_CHECK_SECONDS))
    return f"waited {amount} {unit.lower()}"


def _cancel_query(run: Run, _: StateReader, arguments: Arguments) -> str:
    query_id = text(arguments[0], "query_id")
    for session in run.account.sessions():
        running = session.running
        if (
            running is not None
            and running.query_id == query_id
            and session is not run.session
            and _controls(run, session)
        ):
            session.cancel()
            return f"query [{query_id}] terminated."
    raise errors.SnowmeltError("000605", "57014", "Identified SQL statement is not currently executing.")


def _cancel_all(run: Run, _: StateReader, arguments: Arguments) -> str:
    session = _session(run, arguments[0])
    if session is run.session or session.running is None:
        return "0 statements canceled"
    session.cancel()
    return "1 statements canceled"


def _abort_session(run: Run, _: StateReader, arguments: Arguments) -> str:
    session = _session(run, arguments[0])
    if session is run.session:
        raise errors.unsupported("SYSTEM$ABORT_SESSION of the session itself")
    session.cancel()
    session.close()
    return f"session [{session.id}] terminated."


def _session(run: Run, value: Any) -> Session:
    found = next((session for session in run.account.sessions() if session.id == str(value)), None)
    if found is None or not _controls(run, found):
        raise errors.SnowmeltError("390111", "08003", f"Session [{value}] not found.")
    return found


def _controls(run: Run, session: Session) -> bool:
    """Users control their own sessions, but none with more rights; the account's administrator all of them."""
    own = session.user == run.session.user and session.authority.roles <= run.authority.roles
    return own or run.authority.on_account("MANAGE ACCOUNT")


def _variable(run: Run, state: StateReader, arguments: Arguments) -> str | None:
    """GETVARIABLE: the value of a session variable as text, whose name is upper case unless it was quoted."""
    found = run.session_variable(text(arguments[0], "name"))
    return None if found is None or found.value is None else str(found.value)


FUNCTIONS: dict[str, SystemFunction] = {
    "GETVARIABLE": SystemFunction(1, 1, types.VARCHAR, _variable),
    "GET_DDL": SystemFunction(2, 3, types.VARCHAR, _get_ddl),
    "SYSTEM$ABORT_SESSION": SystemFunction(1, 1, types.VARCHAR, _abort_session),
    "SYSTEM$CANCEL_ALL_QUERIES": SystemFunction(1, 1, types.VARCHAR, _cancel_all),
    "SYSTEM$CANCEL_QUERY": SystemFunction(1, 1, types.VARCHAR, _cancel_query),
    "SYSTEM$CLUSTERING_DEPTH": SystemFunction(1, 2, types.number(38, 4), _clustering_depth),
    "SYSTEM$CLUSTERING_INFORMATION": SystemFunction(1, 2, types.VARCHAR, _clustering_information),
    "SYSTEM$LAST_CHANGE_COMMIT_TIME": SystemFunction(1, 1, types.INTEGER, _last_change),
    "SYSTEM$PROJECT_BEGIN": SystemFunction(3, 3, types.BOOLEAN, project_objects.begin),
    "SYSTEM$PROJECT_END": SystemFunction(4, 4, types.BOOLEAN, project_objects.end),
    "SYSTEM$PROJECT_FORGET": SystemFunction(3, 3, types.BOOLEAN, project_objects.forget),
    "SYSTEM$PROJECT_OBJECTS": SystemFunction(1, 1, types.VARCHAR, project_objects.objects),
    "SYSTEM$WAIT": SystemFunction(1, 2, types.VARCHAR, _wait),
}
