"""GET_DDL and SYSTEM$ functions: answered from the catalog while the statement is bound, so without Spark."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import split_name
from snowmelt.core.types import DataType
from snowmelt.service import catalogue, project_objects
from snowmelt.service.alerts import inside, sending
from snowmelt.service.data_products import pii
from snowmelt.service.lineage import functions as lineage
from snowmelt.service.metadata import clustering
from snowmelt.service.metadata.columns import EPOCH
from snowmelt.service.metadata.ddl_scripts import get_ddl
from snowmelt.service.observing import costs as object_costs
from snowmelt.service.results import Result, ResultColumn, table_result
from snowmelt.service.tags import references as tags
from snowmelt.service.tasks import branching
from snowmelt.service.tasks import system as tasks
from snowmelt.service.variables import literal
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run
    from snowmelt.service.session import Session

Arguments = Sequence[Any]
_UNITS = {
    "DAYS": 86_400.0, "HOURS": 3_600.0, "MINUTES": 60.0, "SECONDS": 1.0, "MILLISECONDS": 1e-3, "MICROSECONDS": 1e-6,
    "NANOSECONDS": 1e-9,
}  # fmt: skip
_CANCEL_CHECK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class SystemFunction:
    least: int
    most: int
    returns: DataType
    value: Callable[[Run, StateReader, Arguments], Any]
    only_called: bool = False
    """It does something that must happen once: a query may be bound several times."""


def call(run: Run, state: StateReader, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """The function's value as a Snowflake literal; None when the name is not of such a function."""
    function = _function(name, len(arguments))
    if function is None:
        return None
    if function.only_called:
        raise errors.unsupported(f"{name} in a query", hint=f"Write CALL {name}(…).")
    values = [_constant(run, name, index, argument) for index, argument in enumerate(arguments, start=1)]
    return literal(function.value(run, state, values), function.returns)


def called(run: Run, name: str, arguments: Arguments) -> Result | None:
    """What CALL SYSTEM$…(…) answers; None when the name is not of such a function."""
    function = _function(name, len(arguments))
    if function is None:
        return None
    with run.state.read() as state:
        value = function.value(run, state, arguments)
    return table_result([ResultColumn(name, function.returns)], [[value]], statement_type="CALL")


def _function(name: str, given: int) -> SystemFunction | None:
    function = FUNCTIONS.get(name)
    if function is None:
        if name.startswith("SYSTEM$"):
            nearest = difflib.get_close_matches(name, FUNCTIONS, n=1, cutoff=0.6)
            raise errors.unknown_function(name, nearest[0] if nearest else None)
        return None
    if given < function.least:
        raise errors.not_enough_arguments(name, function.least, given)
    if given > function.most:
        raise errors.too_many_arguments(name, function.most, given)
    return function


def _constant(run: Run, name: str, index: int, argument: exp.Expr) -> Any:
    column = argument.find(exp.Column)
    if column is not None:
        found = column.sql().upper()
        raise errors.compilation(
            "001015", "22023", f"argument {index} to function {name} needs to be constant, found '{found}'"
        )
    return run.evaluate(argument).value


def _text(value: Any, parameter: str) -> str:
    if not isinstance(value, str):
        raise errors.invalid_value("NULL" if value is None else str(value), parameter)
    return value


# -- definitions ------------------------------------------------------------------------------------------------------


def _get_ddl(run: Run, state: StateReader, arguments: Arguments) -> str:
    qualified = len(arguments) > 2 and bool(arguments[2])
    type_, name = _text(arguments[0], "object_type"), _text(arguments[1], "object_name")
    return get_ddl(run, state, type_, name, qualified=qualified)


def _catalog_snapshot(run: Run, state: StateReader, _: Arguments) -> str:
    return catalogue.snapshot(run, state).model_dump_json()


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(run: Run, state: StateReader, text: str, function: str) -> tuple[CatalogObject, TableDefinition]:
    parts = split_name(text)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(text, "table_name")
    full = run.object_name(parts, function)
    found = state.catalog.find(full, [ObjectKind.TABLE, ObjectKind.VIEW], run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    if not isinstance(found.definition, TableDefinition):
        raise errors.unsupported(f"{function} of a view", hint="Ask for the tables in its query.")
    return found, found.definition


def _last_change(run: Run, state: StateReader, arguments: Arguments) -> int:
    """Nanoseconds since 1970 of the newest visible version."""
    table, _ = _table(run, state, _text(arguments[0], "table_name"), "SYSTEM$LAST_CHANGE_COMMIT_TIME")
    visible = state.versions.visible(table.id)
    return _nanoseconds(visible.committed_at if visible is not None else table.created_on)


def _nanoseconds(instant: datetime) -> int:
    passed = instant - EPOCH
    return ((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1_000


def _clustering_information(run: Run, state: StateReader, arguments: Arguments) -> str:
    name = "SYSTEM$CLUSTERING_INFORMATION"
    return json.dumps(_measured(run, state, arguments, name).information(), indent=2)


def _clustering_depth(run: Run, state: StateReader, arguments: Arguments) -> Decimal:
    return Decimal(str(_measured(run, state, arguments, "SYSTEM$CLUSTERING_DEPTH").average_depth))


def _measured(run: Run, state: StateReader, arguments: Arguments, name: str) -> clustering.Clustering:
    table, definition = _table(run, state, _text(arguments[0], "table_name"), name)
    given = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], str) else None
    return clustering.measure(run, state, table, definition, given)


def _check_dynamic_table(run: Run, state: StateReader, arguments: Arguments) -> str:
    name = "SYSTEM$CHECK_DYNAMIC_TABLE"
    table, definition = _table(run, state, _text(arguments[0], "table_name"), name)
    if definition.dynamic is None:
        raise errors.wrong_kind(table.kind, "DYNAMIC_TABLE")
    return json.dumps(run.account.dynamic_tables.check(table, run))


def _check_scd(run: Run, state: StateReader, arguments: Arguments) -> str:
    table, _ = _table(run, state, _text(arguments[0], "table_name"), "SYSTEM$CHECK_SCD")
    key = _text(arguments[1], "key_columns") if len(arguments) > 1 else None
    return json.dumps(run.account.dynamic_tables.check_versions(run, table, key))


# -- streams ----------------------------------------------------------------------------------------------------------


def _stream_has_data(run: Run, state: StateReader, arguments: Arguments) -> bool:
    return run.account.streams.has_data(run, state, _text(arguments[0], "stream_name"))


def _stream_table_timestamp(run: Run, state: StateReader, arguments: Arguments) -> int:
    return _nanoseconds(run.account.streams.table_timestamp(run, state, _text(arguments[0], "stream_name")))


# -- control ----------------------------------------------------------------------------------------------------------


def _wait(run: Run, _: StateReader, arguments: Arguments) -> str:
    amount = arguments[0]
    unit = _text(arguments[1], "time_unit").upper() if len(arguments) > 1 else "SECONDS"
    if unit not in _UNITS:
        raise errors.invalid_value(unit, "time_unit")
    if amount is None or amount < 0:
        raise errors.invalid_value("NULL" if amount is None else str(amount), "amount")
    deadline = time.monotonic() + float(amount) * _UNITS[unit]
    while (left := deadline - time.monotonic()) > 0:
        run.check_cancelled()
        time.sleep(min(left, _CANCEL_CHECK_SECONDS))
    return f"waited {amount} {unit.lower()}"


def _cancel_query(run: Run, _: StateReader, arguments: Arguments) -> str:
    query_id = _text(arguments[0], "query_id")
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
    """Users control their own sessions, the account's administrator all of them."""
    return session.user == run.session.user or run.authority.on_account("MANAGE ACCOUNT")


FUNCTIONS: dict[str, SystemFunction] = {
    "GET_DDL": SystemFunction(2, 3, types.VARCHAR, _get_ddl),
    "SNOWFLAKE.ALERT.GET_CONDITION_QUERY_UUID": SystemFunction(0, 0, types.VARCHAR, inside.condition_query),
    "SNOWFLAKE.ALERT.LAST_SUCCESSFUL_SCHEDULED_TIME": SystemFunction(
        0, 0, types.TIMESTAMP_LTZ, inside.last_successful_time
    ),
    "SNOWFLAKE.ALERT.SCHEDULED_TIME": SystemFunction(0, 0, types.TIMESTAMP_LTZ, inside.scheduled_time),
    "SNOWFLAKE.NOTIFICATION.APPLICATION_JSON": SystemFunction(1, 1, types.VARCHAR, inside.application_json),
    "SNOWFLAKE.NOTIFICATION.EMAIL_INTEGRATION_CONFIG": SystemFunction(2, 3, types.VARCHAR, inside.email_integration),
    "SNOWFLAKE.NOTIFICATION.INTEGRATION": SystemFunction(1, 1, types.VARCHAR, inside.integration),
    "SNOWFLAKE.NOTIFICATION.TEXT_HTML": SystemFunction(1, 1, types.VARCHAR, inside.text_html),
    "SNOWFLAKE.NOTIFICATION.TEXT_PLAIN": SystemFunction(1, 1, types.VARCHAR, inside.text_plain),
    "SYSTEM$ABORT_SESSION": SystemFunction(1, 1, types.VARCHAR, _abort_session),
    "SYSTEM$CANCEL_ALL_QUERIES": SystemFunction(1, 1, types.VARCHAR, _cancel_all),
    "SYSTEM$CANCEL_QUERY": SystemFunction(1, 1, types.VARCHAR, _cancel_query),
    "SYSTEM$CATALOG_SNAPSHOT": SystemFunction(0, 0, types.VARCHAR, _catalog_snapshot),
    "SYSTEM$CHECK_DYNAMIC_TABLE": SystemFunction(1, 1, types.VARCHAR, _check_dynamic_table),
    "SYSTEM$CHECK_SCD": SystemFunction(1, 2, types.VARCHAR, _check_scd),
    "SYSTEM$CLASSIFY": SystemFunction(1, 2, types.VARCHAR, pii.classify_table, only_called=True),
    "SYSTEM$CLUSTERING_DEPTH": SystemFunction(1, 2, types.number(38, 4), _clustering_depth),
    "SYSTEM$CLUSTERING_INFORMATION": SystemFunction(1, 2, types.VARCHAR, _clustering_information),
    "SYSTEM$COST_REPORT": SystemFunction(0, 2, types.VARCHAR, object_costs.report),
    "SYSTEM$CURRENT_USER_TASK_NAME": SystemFunction(0, 0, types.VARCHAR, tasks.current_task_name),
    "SYSTEM$GET_PREDECESSOR_RETURN_VALUE": SystemFunction(0, 1, types.VARCHAR, tasks.predecessor_return_value),
    "SYSTEM$GET_TAG": SystemFunction(3, 3, types.VARCHAR, tags.get_tag),
    "SYSTEM$GET_TASK_GRAPH_CONFIG": SystemFunction(0, 1, types.VARCHAR, tasks.graph_config),
    "SYSTEM$LAST_CHANGE_COMMIT_TIME": SystemFunction(1, 1, types.INTEGER, _last_change),
    "SYSTEM$LINEAGE": SystemFunction(1, 3, types.VARCHAR, lineage.described),
    "SYSTEM$PII_VIEW": SystemFunction(2, 3, types.VARCHAR, pii.view_text),
    "SYSTEM$PROJECT_BEGIN": SystemFunction(3, 3, types.BOOLEAN, project_objects.begin),
    "SYSTEM$PROJECT_END": SystemFunction(4, 4, types.BOOLEAN, project_objects.end),
    "SYSTEM$PROJECT_FORGET": SystemFunction(3, 3, types.BOOLEAN, project_objects.forget),
    "SYSTEM$PROJECT_OBJECTS": SystemFunction(1, 1, types.VARCHAR, project_objects.objects),
    "SYSTEM$SEND_EMAIL": SystemFunction(4, 5, types.BOOLEAN, sending.send_email, only_called=True),
    "SYSTEM$SEND_SNOWFLAKE_NOTIFICATION": SystemFunction(
        2, 2, types.VARCHAR, sending.send_notification, only_called=True
    ),
    "SYSTEM$SILENCE_ALERT_RULE": SystemFunction(2, 2, types.VARCHAR, sending.silence, only_called=True),
    "SYSTEM$STREAM_GET_TABLE_TIMESTAMP": SystemFunction(1, 1, types.INTEGER, _stream_table_timestamp),
    "SYSTEM$STREAM_HAS_DATA": SystemFunction(1, 1, types.BOOLEAN, _stream_has_data),
    "SYSTEM$SET_PII_CLASS": SystemFunction(3, 3, types.VARCHAR, pii.set_class, only_called=True),
    "SYSTEM$SET_PII_STRATEGY": SystemFunction(3, 3, types.VARCHAR, pii.set_strategy, only_called=True),
    "SYSTEM$SET_RETURN_VALUE": SystemFunction(1, 1, types.VARCHAR, tasks.set_return_value),
    "SYSTEM$PREDECESSORS_STATE": SystemFunction(1, 1, types.BOOLEAN, branching.predecessors_state),
    "SYSTEM$TASK_COMPLETION_STATE": SystemFunction(1, 1, types.VARCHAR, branching.completion_state),
    "SYSTEM$TASK_DEPENDENTS_ENABLE": SystemFunction(1, 1, types.VARCHAR, tasks.dependents_enable),
    "SYSTEM$TASK_RUNTIME_INFO": SystemFunction(1, 1, types.VARCHAR, tasks.runtime_info),
    "SYSTEM$USER_TASK_CANCEL_ONGOING_EXECUTIONS": SystemFunction(1, 1, types.VARCHAR, tasks.cancel_executions),
    "SYSTEM$WAIT": SystemFunction(1, 2, types.VARCHAR, _wait),
}
