"""PyPI's Snowpark as a procedure's session, where it is installed: its connection asks the server through the pipe.

Only what asks is replaced, at the place where the connector would send HTTP. Nothing but Python's own modules and
those two packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from snowmelt.engine.code.procedures.asking import Asking

_QUERY = "/queries/v1/query-request"


def is_installed() -> bool:
    """Whether users' `import snowflake.snowpark` finds the package."""
    try:
        return find_spec("snowflake.snowpark") is not None and find_spec("snowflake.connector") is not None
    except ModuleNotFoundError:
        return False


class Pipe:
    """Where a connection of the connector expects its HTTP."""

    token = master_token = id_token = mfa_token = None
    master_validity_in_seconds = 3600

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._kept = False

    def keep_last(self, keep: bool) -> None:
        """Whether the server is to keep what statements give, since one of them is the procedure's result."""
        self._kept = keep

    def request(self, url: str, body: Mapping[str, Any] | None = None, method: str = "post", **_: Any) -> Any:
        if url.startswith(_QUERY) and body is not None:
            named = ("sqlText", "bindings", "describeOnly", "parameters", "asyncExec")
            return self._asking({**{name: body.get(name) for name in named}, "keep": self._kept})
        if "/monitoring/queries/" in url:
            # What was asked for is done: nothing runs beside the procedure.
            query_id = url.rsplit("/", 1)[-1].partition("?")[0]
            found = {"id": query_id, "status": "SUCCESS", "errorCode": None, "errorMessage": None}
            return {"success": True, "code": None, "data": {"queries": [found]}}
        return {"success": True, "code": None, "data": None, "message": None}

    def _heartbeat(self) -> dict[str, Any]:
        return {"success": True}

    def delete_session(self, **_: Any) -> None:
        return None

    def close(self) -> None:
        return None


def session_of_snowpark(asking: Asking, names: Mapping[str, str | None]) -> Any:
    """Snowpark's session, over a connection that is open from the beginning."""
    connector = import_module("snowflake.connector.connection")
    managers = import_module("snowflake.connector.session_manager")

    class Connection(connector.SnowflakeConnection):  # type: ignore[misc, name-defined]
        def connect(self, **_: Any) -> None:
            self.converter = self._converter_class(use_numpy=False, support_negative_year=self._support_negative_year)
            self.converter.set_parameter("TIMEZONE", names["zone"])
            self._rest = Pipe(asking)
            self._session_manager = managers.SessionManagerFactory.get_manager(managers.HttpConfig())
            self._paramstyle = "qmark"
            self._is_pyformat = False
            self._telemetry_enabled = False
            self._disable_query_context_cache = True
            self._session_id = names["session"]
            self._account = "snowmelt"
            self._user, self._role = names["user"], names["role"]
            self._database, self._schema, self._warehouse = names["database"], names["schema"], names["warehouse"]
            self._session_parameters = {"TIMEZONE": names["zone"]}

    snowpark = import_module("snowflake.snowpark")
    return snowpark.Session.builder.config("connection", Connection(account="snowmelt")).create()


def table_of_snowpark(frame: Any) -> str | None:
    """Runs what a DataFrame stands for; the query that has the rows, for the procedure's caller."""
    connection = frame._session._conn
    pipe = connection._conn._rest
    pipe.keep_last(True)
    try:
        query_id: str = frame._execute_and_get_query_id()
    finally:
        pipe.keep_last(False)
    return query_id
