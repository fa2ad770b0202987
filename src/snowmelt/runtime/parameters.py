"""Session parameters: the ones that mean something here, with Snowflake's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import available_timezones

from snowmelt.core import errors
from snowmelt.core.text import storable

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    default: Value
    description: str

    @property
    def type(self) -> str:
        if isinstance(self.default, bool):
            return "BOOLEAN"
        return "NUMBER" if isinstance(self.default, int) else "STRING"


PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        Parameter("ABORT_DETACHED_QUERY", False, "Accepted for clients."),
        Parameter("CLIENT_ENABLE_LOG_INFO_STATEMENT_PARAMETERS", False, "Accepted for clients."),
        Parameter("CLIENT_MEMORY_LIMIT", 1536, "Accepted for clients."),
        Parameter("CLIENT_METADATA_REQUEST_USE_CONNECTION_CTX", False, "Accepted for clients."),
        Parameter("CLIENT_PREFETCH_THREADS", 4, "How many parts of a result a client fetches at once."),
        Parameter("CLIENT_RESULT_CHUNK_SIZE", 160, "Accepted for clients."),
        Parameter("CLIENT_RESULT_COLUMN_CASE_INSENSITIVE", False, "Accepted for clients."),
        Parameter("CLIENT_SESSION_KEEP_ALIVE_HEARTBEAT_FREQUENCY", 3600, "Seconds between a client's heartbeats."),
        Parameter("CLIENT_STAGE_ARRAY_BINDING_THRESHOLD", 0, "0: clients send rows of binds with the statement."),
        Parameter("CLIENT_TELEMETRY_ENABLED", False, "Whether clients send telemetry; it is thrown away here."),
        Parameter("CLIENT_TIMESTAMP_TYPE_MAPPING", "TIMESTAMP_LTZ", "Accepted for clients."),
        Parameter("GO_QUERY_RESULT_FORMAT", "ARROW", "How clients written in Go get rows: ARROW or JSON."),
        Parameter("JDBC_QUERY_RESULT_FORMAT", "JSON", "Accepted for clients."),
        Parameter("JS_TREAT_INTEGER_AS_BIGINT", False, "Accepted for clients."),
        Parameter("ODBC_QUERY_RESULT_FORMAT", "JSON", "Accepted for clients."),
        Parameter("PYTHON_CONNECTOR_QUERY_RESULT_FORMAT", "ARROW", "How Python clients get rows: ARROW or JSON."),
        Parameter("QUERY_RESULT_FORMAT", "ARROW", "JSON: no client gets Arrow, whatever its own parameter says."),
        Parameter("STATEMENT_QUEUED_TIMEOUT_IN_SECONDS", 0, "Seconds a statement may wait to be run; 0 for any."),
        Parameter("GEOGRAPHY_OUTPUT_FORMAT", "GeoJSON", "Accepted for clients."),
        Parameter("STRICT_JSON_OUTPUT", False, "Only FALSE is supported: `undefined` is shown as such."),
        Parameter("AUTOCOMMIT", True, "Whether a statement outside BEGIN … COMMIT is a transaction of its own."),
        Parameter("BINARY_INPUT_FORMAT", "HEX", "How text is read as BINARY: HEX, BASE64 or UTF8."),
        Parameter("BINARY_OUTPUT_FORMAT", "HEX", "How BINARY is shown: HEX or BASE64."),
        Parameter(
            "CLIENT_SESSION_KEEP_ALIVE",
            False,
            "Accepted for clients; sessions do not expire while connected.",
        ),
        Parameter("DATE_INPUT_FORMAT", "AUTO", "How text is read as DATE."),
        Parameter("DATE_OUTPUT_FORMAT", "YYYY-MM-DD", "How DATE is shown."),
        Parameter("ERROR_ON_NONDETERMINISTIC_MERGE", True, "Whether MERGE fails when a row matches several."),
        Parameter("ERROR_ON_NONDETERMINISTIC_UPDATE", False, "Whether UPDATE fails when a row matches several."),
        Parameter("JSON_INDENT", 2, "Spaces of indentation in JSON output; 0 for one line."),
        Parameter("LOCK_TIMEOUT", 43200, "Seconds to wait for a table that another transaction is writing."),
        Parameter("MULTI_STATEMENT_COUNT", 1, "Accepted for clients."),
        Parameter("QUERY_TAG", "", "A text kept with each query in the history."),
        Parameter("QUOTED_IDENTIFIERS_IGNORE_CASE", False, "Only FALSE is supported."),
        Parameter("ROWS_PER_RESULTSET", 0, "The most rows a result may have; 0 for all."),
        Parameter("STATEMENT_TIMEOUT_IN_SECONDS", 172800, "Seconds after which a statement is stopped."),
        Parameter("TIMESTAMP_INPUT_FORMAT", "AUTO", "How text is read as a timestamp."),
        Parameter(
            "TIMESTAMP_LTZ_OUTPUT_FORMAT",
            "",
            "How TIMESTAMP_LTZ is shown; empty: as TIMESTAMP_OUTPUT_FORMAT.",
        ),
        Parameter("TIMESTAMP_NTZ_OUTPUT_FORMAT", "YYYY-MM-DD HH24:MI:SS.FF3", "How TIMESTAMP_NTZ is shown."),
        Parameter("TIMESTAMP_OUTPUT_FORMAT", "YYYY-MM-DD HH24:MI:SS.FF3 TZHTZM", "How timestamps are shown."),
        Parameter("TIMESTAMP_TYPE_MAPPING", "TIMESTAMP_NTZ", "Only TIMESTAMP_NTZ is supported."),
        Parameter("TIMESTAMP_TZ_OUTPUT_FORMAT", "", "How TIMESTAMP_TZ is shown; empty: as TIMESTAMP_OUTPUT_FORMAT."),
        Parameter("TIMEZONE", "UTC", "The session's time zone."),
        Parameter("TIME_INPUT_FORMAT", "AUTO", "How text is read as TIME."),
        Parameter("TIME_OUTPUT_FORMAT", "HH24:MI:SS", "How TIME is shown."),
        Parameter("TRANSACTION_ABORT_ON_ERROR", False, "Whether a failed statement rolls its transaction back."),
        Parameter("USE_CACHED_RESULT", True, "Whether a small query over the same data may get the rows of before."),
        Parameter("WEEK_OF_YEAR_POLICY", 0, "0: ISO-like weeks. 1: January 1 always starts week 1."),
        Parameter("NETWORK_POLICY", "", "Of the account: from which addresses clients may come."),
        Parameter("WEEK_START", 0, "First day of the week: 0 and 1 Monday, 7 Sunday."),
    )
}
_MOST = 2**31 - 1
_RANGES = {
    "CLIENT_PREFETCH_THREADS": (1, 10), "JSON_INDENT": (0, 16), "LOCK_TIMEOUT": (0, _MOST),
    "ROWS_PER_RESULTSET": (0, _MOST), "STATEMENT_QUEUED_TIMEOUT_IN_SECONDS": (0, _MOST),
    "STATEMENT_TIMEOUT_IN_SECONDS": (0, 604_800), "WEEK_OF_YEAR_POLICY": (0, 1), "WEEK_START": (0, 7),
}  # fmt: skip
"""The least and the most, of numbers that mean something here; the time limit goes up to a week."""
_CHOICES = {
    "BINARY_INPUT_FORMAT": ("HEX", "BASE64", "UTF8", "UTF-8"),
    "BINARY_OUTPUT_FORMAT": ("HEX", "BASE64"),
    "JDBC_QUERY_RESULT_FORMAT": ("ARROW", "JSON"),
    "ODBC_QUERY_RESULT_FORMAT": ("ARROW", "JSON"),
    **dict.fromkeys(
        ("GO_QUERY_RESULT_FORMAT", "PYTHON_CONNECTOR_QUERY_RESULT_FORMAT", "QUERY_RESULT_FORMAT"),
        ("ARROW", "JSON", "ARROW_FORCE"),
    ),
}
"""The words that a parameter may be, in any case."""
_ONLY = {
    "QUOTED_IDENTIFIERS_IGNORE_CASE": False, "STRICT_JSON_OUTPUT": False, "TIMESTAMP_TYPE_MAPPING": "TIMESTAMP_NTZ",
}  # fmt: skip


def default(name: str) -> Value:
    return PARAMETERS[name].default


def check(name: str, value: object) -> Value:
    """The value as the parameter's type; an error in Snowflake's words when it does not fit."""
    parameter = PARAMETERS.get(name)
    if parameter is None:
        raise errors.compilation("001423", "22023", f"invalid property '{name}' for 'SESSION'")
    converted = _convert(parameter, value)
    if converted is None:
        raise errors.invalid_value(str(value), name)
    if name == "TIMEZONE" and converted not in available_timezones():
        raise errors.invalid_value(str(value), name)
    least, most = _RANGES.get(name, (None, None))
    if least is not None and most is not None and not least <= int(converted) <= most:
        raise errors.invalid_value(str(value), name)
    if name in _CHOICES and str(converted).upper() not in _CHOICES[name]:
        raise errors.invalid_value(str(value), name)
    if name in _ONLY and converted != _ONLY[name]:
        raise errors.unsupported(f"{name} = {value}")
    return converted


def _convert(parameter: Parameter, value: object) -> Value | None:
    text = str(value)
    if parameter.type == "BOOLEAN":
        return {"TRUE": True, "FALSE": False}.get(text.upper())
    if parameter.type == "NUMBER":
        return int(text) if text.lstrip("-").isdigit() else None
    # A tag comes from clients that never heard of SQL: it is kept with every query, so it must be possible to keep it.
    return storable(text)
