"""Table functions over metadata and results: TABLE(RESULT_SCAN(…)) and INFORMATION_SCHEMA's functions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote, split_name
from snowmelt.service import catalogue, costs, histories, inputs, spilling
from snowmelt.service.alerts import functions as alerts
from snowmelt.service.alerts import sending
from snowmelt.service.channels import listing as channels
from snowmelt.service.data_products import pii
from snowmelt.service.dynamic_tables import functions as dynamic_functions
from snowmelt.service.lineage import functions as lineage
from snowmelt.service.loading import inference
from snowmelt.service.metadata.columns import Columns, Row
from snowmelt.service.observing import costs as object_costs
from snowmelt.service.observing import functions as observing
from snowmelt.service.quality import listing as quality
from snowmelt.service.security import history
from snowmelt.service.tags import references as tags
from snowmelt.service.tasks import functions as task_functions
from snowmelt.sql.relations import Relation
from snowmelt.state.model import RELATIONS, ObjectKind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run

MAX_RESULTS = 10_000
_ANYWHERE = frozenset({"INFER_SCHEMA"})
"""Functions that belong to no schema."""
_CORE = ["SNOWFLAKE", "CORE"]
_REFUSED = frozenset({"VALIDATE", "VALIDATE_PIPE_LOAD"})
"""Snowflake has them, and people will look for them here."""


class Arguments:
    """The arguments of one call: constants, by name or by position."""

    def __init__(self, run: Run, function: TableFunction, given: Mapping[str, exp.Expr]) -> None:
        self._run = run
        self._given: dict[str, exp.Expr] = {}
        for key, value in given.items():
            name = function.name_of(key)
            if name is None:
                raise errors.compilation("001019", "42601", f"Invalid argument name '{key}' for {function.name}")
            self._given[name] = value

    def value(self, name: str) -> Any:
        """None when the argument is absent."""
        return self._run.evaluate(self._given[name]).value if name in self._given else None

    def text(self, name: str) -> str | None:
        value = self.value(name)
        return None if value is None else str(value)

    def identifier(self, name: str) -> str | None:
        """A name in quotes: 'user1' means USER1, '"User 1"' means itself."""
        text = self.text(name)
        parts = split_name(text) if text is not None else None
        return parts[-1] if parts is not None else text

    def instant(self, name: str) -> datetime | None:
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, str):
            value = _parsed(value, name)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise errors.compilation("001007", "22023", f"invalid type [{value}] for parameter '{name}'")
        zone = ZoneInfo(self._run.context.time_zone)
        return value if value.tzinfo is not None else value.replace(tzinfo=zone)

    def limit(self, default: int) -> int:
        value = self.value("RESULT_LIMIT")
        if value is None:
            return default
        if value > MAX_RESULTS:
            raise errors.compilation(
                "001017", "22023", "Value for parameter RESULT_LIMIT exceeds maximum allowable value (10,000)."
            )
        return int(value) if value > 0 else MAX_RESULTS


def _parsed(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise errors.invalid_value(text, name) from None


@dataclass(frozen=True, slots=True)
class TableFunction:
    name: str
    arguments: tuple[str, ...]
    columns: Columns
    rows: Callable[[Run, StateReader, Arguments], list[Row]]
    required: int = 0
    about: str | None = None
    """The column that names what a row is about, beside DATABASE_NAME and SCHEMA_NAME: only those who may know of it
    get the row."""

    def name_of(self, key: str) -> str | None:
        """The argument that a key means: its name, or its position."""
        if key.isdigit():
            return self.arguments[int(key)] if int(key) < len(self.arguments) else None
        return key if key in self.arguments else None


def call(run: Run, state: StateReader, name: str, arguments: dict[str, exp.Expr]) -> Relation:
    """The relation that a call in FROM means. Raises the unknown-function error, naming the nearest function."""
    *schema, last = name.split(".")
    if last == "RESULT_SCAN" and not schema:
        return _result_scan(run, arguments)
    if last in _REFUSED:
        raise errors.unsupported(last)
    in_core = schema == _CORE
    function = CORE_FUNCTIONS.get(last) if in_core else FUNCTIONS.get(last)
    if function is None or (schema and not in_core and schema[-1] != "INFORMATION_SCHEMA"):
        known = ["RESULT_SCAN", *FUNCTIONS, *(f"SNOWFLAKE.CORE.{core}" for core in CORE_FUNCTIONS)]
        nearest = difflib.get_close_matches(last, known, n=1, cutoff=0.6)
        raise errors.unknown_function(name, nearest[0] if nearest else None)
    if not schema and last not in _ANYWHERE and run.session.schema != "INFORMATION_SCHEMA":
        raise errors.unknown_function(name, f"INFORMATION_SCHEMA.{last}")
    if len(schema) > 1 and not in_core and state.catalog.database(schema[0]) is None:
        raise errors.not_found("Database", quote(schema[0]))
    if len(arguments) < function.required:
        raise errors.not_enough_arguments(last, function.required, len(arguments))
    given = Arguments(run, function, arguments)
    key = f"{name} {sorted((key, value.sql()) for key, value in arguments.items())}"
    reference = inputs.attach(run, key, lambda: inputs.rows_table(function.columns, _rows(run, state, function, given)))
    return inputs.table_relation(name, function.columns, reference)


def _rows(run: Run, state: StateReader, function: TableFunction, given: Arguments) -> list[Row]:
    """The rows about what the session's roles may know of."""
    found = function.rows(run, state, given)
    if function.about is None or run.authority.sight is None:
        return found
    with run.state.read() as seen:
        names = {_name(row, function.about) for row in found}
        known = {name for name in names if _seen(seen, name)}
    return [row for row in found if _name(row, function.about) in known]


def _name(row: Row, about: str) -> tuple[str, ...]:
    return str(row.get("DATABASE_NAME", "")), str(row.get("SCHEMA_NAME", "")), str(row[about])


def _seen(state: StateReader, name: tuple[str, ...]) -> bool:
    if not name[0]:
        return state.warehouses.get(name[-1]) is not None
    # Kinds in namespaces of their own are asked for one by one.
    groups = (RELATIONS, [ObjectKind.TASK], [ObjectKind.ALERT], [ObjectKind.DATA_PRODUCT])
    return any(state.catalog.find(ObjectName(*name), kinds) is not None for kinds in groups)


def _result_scan(run: Run, arguments: dict[str, exp.Expr]) -> Relation:
    """The result of an earlier statement of the same user, of any session, as long as it is kept."""
    if "0" not in arguments:
        raise errors.not_enough_arguments("RESULT_SCAN", 1, 0)
    if len(arguments) > 1:
        raise errors.too_many_arguments("RESULT_SCAN", 1, len(arguments))
    query_id = str(run.evaluate(arguments["0"]).value)
    found = run.account.results.get(query_id, run.session.user, run.authority.roles)
    if found is None:
        raise errors.statement_not_found(query_id)
    if found.spilled is not None:
        reference = spilling.attached(run, query_id, found)
        if reference is None:
            raise errors.statement_not_found(query_id)
    else:
        reference = inputs.attach(run, query_id, lambda: inputs.named_by_position(found.data))
    return inputs.table_relation("RESULT_SCAN", found.columns, reference)


# -- histories --------------------------------------------------------------------------------------------------------


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


def _login_history(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    start, end = arguments.instant("TIME_RANGE_START"), arguments.instant("TIME_RANGE_END")
    return history.logins(run, arguments.limit(100), start, end, arguments.identifier("USER_NAME"))


def _copy_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    name, start = arguments.text("TABLE_NAME"), arguments.instant("START_TIME")
    if name is None or start is None:
        raise errors.not_enough_arguments("COPY_HISTORY", 2, 0)
    return histories.loads(run, state, name, start, arguments.instant("END_TIME"))


def _infer_schema(run: Run, _: StateReader, arguments: Arguments) -> list[Row]:
    ignore_case = str(arguments.value("IGNORE_CASE")).upper() == "TRUE"
    return inference.inferred(
        run, arguments.text("LOCATION") or "", arguments.text("FILE_FORMAT"), ignore_case=ignore_case
    )


_QUERY_ARGUMENTS = (
    "END_TIME_RANGE_START", "END_TIME_RANGE_END", "RESULT_LIMIT", "INCLUDE_CLIENT_GENERATED_STATEMENT",
)  # fmt: skip
_LOGIN_ARGUMENTS = ("TIME_RANGE_START", "TIME_RANGE_END", "RESULT_LIMIT")


def _search_catalog(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    return catalogue.search_rows(run, state, arguments.text("SEARCH_TEXT") or "")[: arguments.limit(100)]


def _lineage(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    if arguments.value("OBJECT_VERSION") is not None:
        raise errors.unsupported("versions of objects in GET_LINEAGE")
    return lineage.rows(
        run,
        state,
        arguments.text("OBJECT_NAME") or "",
        arguments.text("OBJECT_DOMAIN") or "",
        arguments.text("DIRECTION"),
        arguments.value("DISTANCE"),
    )


FUNCTIONS = {
    function.name: function
    for function in (
        TableFunction("QUERY_HISTORY", _QUERY_ARGUMENTS, histories.QUERY_COLUMNS, _query_history),
        TableFunction(
            "QUERY_HISTORY_BY_SESSION", ("SESSION_ID", *_QUERY_ARGUMENTS), histories.QUERY_COLUMNS, _by_session
        ),
        TableFunction("QUERY_HISTORY_BY_USER", ("USER_NAME", *_QUERY_ARGUMENTS), histories.QUERY_COLUMNS, _by_user),
        TableFunction(
            "QUERY_HISTORY_BY_WAREHOUSE", ("WAREHOUSE_NAME", *_QUERY_ARGUMENTS), histories.QUERY_COLUMNS, _by_warehouse
        ),
        TableFunction(
            "SEARCH_CATALOG", ("SEARCH_TEXT", "RESULT_LIMIT"), catalogue.SEARCHED, _search_catalog, required=1
        ),
        TableFunction(
            "INFER_SCHEMA",
            ("LOCATION", "FILE_FORMAT", "FILES", "IGNORE_CASE", "MAX_FILE_COUNT", "MAX_RECORDS_PER_FILE"),
            inference.COLUMNS,
            _infer_schema,
            required=1,
        ),
        TableFunction(
            "COPY_HISTORY",
            ("TABLE_NAME", "START_TIME", "END_TIME", "PIPE_NAME"),
            histories.COPY_COLUMNS,
            _copy_history,
            required=2,
        ),
        TableFunction("LOGIN_HISTORY", _LOGIN_ARGUMENTS, history.LOGIN_COLUMNS, _login_history),
        TableFunction("LOGIN_HISTORY_BY_USER", ("USER_NAME", *_LOGIN_ARGUMENTS), history.LOGIN_COLUMNS, _login_history),
        TableFunction(
            "WAREHOUSE_METERING_HISTORY",
            ("DATE_RANGE_START", "DATE_RANGE_END", "WAREHOUSE_NAME"),
            costs.METERING_COLUMNS,
            costs.metering_history,
            required=1,
            about="WAREHOUSE_NAME",
        ),
        TableFunction(
            "DYNAMIC_TABLES",
            dynamic_functions.TABLE_ARGUMENTS,
            dynamic_functions.TABLE_COLUMNS,
            dynamic_functions.dynamic_tables,
            about="NAME",
        ),
        TableFunction(
            "DYNAMIC_TABLE_REFRESH_HISTORY",
            dynamic_functions.REFRESH_ARGUMENTS,
            dynamic_functions.REFRESH_COLUMNS,
            dynamic_functions.refresh_history,
            about="NAME",
        ),
        TableFunction(
            "DYNAMIC_TABLE_GRAPH_HISTORY",
            dynamic_functions.GRAPH_ARGUMENTS,
            dynamic_functions.GRAPH_COLUMNS,
            dynamic_functions.graph_history,
            about="NAME",
        ),
        TableFunction(
            "SNOWPIPE_STREAMING_CHANNEL_HISTORY",
            channels.HISTORY_ARGUMENTS,
            channels.HISTORY_COLUMNS,
            channels.history,
            about="TABLE_NAME",
        ),
        TableFunction(
            "QUALITY_CHECK_HISTORY",
            quality.HISTORY_ARGUMENTS,
            quality.HISTORY_COLUMNS,
            quality.history,
            about="TABLE_NAME",
        ),
        TableFunction(
            "TASK_HISTORY",
            task_functions.HISTORY_ARGUMENTS,
            task_functions.HISTORY_COLUMNS,
            task_functions.task_history,
            about="NAME",
        ),
        TableFunction(
            "TASK_DEPENDENTS",
            task_functions.DEPENDENT_ARGUMENTS,
            task_functions.DEPENDENT_COLUMNS,
            task_functions.task_dependents,
            required=1,
        ),
        TableFunction(
            "CURRENT_TASK_GRAPHS",
            task_functions.CURRENT_ARGUMENTS,
            task_functions.CURRENT_COLUMNS,
            task_functions.current_task_graphs,
            about="ROOT_TASK_NAME",
        ),
        TableFunction(
            "ALERT_HISTORY", alerts.HISTORY_ARGUMENTS, alerts.HISTORY_COLUMNS, alerts.alert_history, about="NAME"
        ),
        TableFunction(
            "NOTIFICATION_HISTORY", sending.HISTORY_ARGUMENTS, sending.HISTORY_COLUMNS, sending.notification_history
        ),
        TableFunction(
            "QUERY_ATTRIBUTION_HISTORY",
            object_costs.ATTRIBUTION_ARGUMENTS,
            object_costs.ATTRIBUTION_COLUMNS,
            object_costs.attribution,
        ),
        TableFunction(
            "OBJECT_COST_HISTORY", object_costs.OBJECT_ARGUMENTS, object_costs.OBJECT_COLUMNS, object_costs.by_object
        ),
        TableFunction("PII_COLUMNS", (), pii.COLUMNS, pii.all_columns, about="NAME"),
        TableFunction("TAG_REFERENCES", tags.REFERENCE_ARGUMENTS, tags.REFERENCE_COLUMNS, tags.references, required=2),
        TableFunction(
            "TAG_REFERENCES_ALL_COLUMNS", tags.REFERENCE_ARGUMENTS, tags.REFERENCE_COLUMNS, tags.all_columns, required=2
        ),
        TableFunction("ALERT_RULE_STATUS", (), sending.STATUS_COLUMNS, sending.rule_status),
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
        TableFunction(
            "COMPLETE_TASK_GRAPHS",
            task_functions.COMPLETE_ARGUMENTS,
            task_functions.COMPLETE_COLUMNS,
            task_functions.complete_task_graphs,
            about="ROOT_TASK_NAME",
        ),
    )
}
CORE_FUNCTIONS = {
    "GET_LINEAGE": TableFunction("GET_LINEAGE", lineage.ARGUMENTS, lineage.COLUMNS, _lineage, required=3),
}
"""Those of the schema SNOWFLAKE.CORE."""
