"""Answers what a procedure's process asks: statements, in the session, the transaction and the rights of the CALL."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.scripting import failures
from snowmelt.features.scripting.failures import RaisedError
from snowmelt.runtime.results import Result
from snowmelt.runtime.wire import rowtypes
from snowmelt.runtime.wire.bindings import read_bindings
from snowmelt.runtime.wire.json_rows import json_rows
from snowmelt.runtime.wire.requests import (
    DML,
    DescribedStatement,
    QueryRequest,
    Several,
    change_counts,
    described_data,
    execute_request,
)
from snowmelt.state.ids import new_query_id

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_log = structlog.get_logger(__name__)
_KEPT = 4
_MOST_ROWS = 1_000_000


class StatementAnswers:
    """Of one call of a procedure."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: OrderedDict[str, Result] = OrderedDict()

    def check(self) -> None:
        """Raises when the statement was cancelled."""
        self._run.check_cancelled()

    def kept(self, query_id: str) -> Result:
        """The result that the procedure returns."""
        found = self._kept.get(query_id)
        if found is None:
            raise errors.statement_not_found(query_id)
        return found

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """As clients get it. Raises what ends the procedure whatever its code would do."""
        self.check()
        session, query_id = self._run.session, new_query_id()
        asked = message["ask"]
        script = session.script
        try:
            return _envelope(self._executed(asked, query_id))
        except SnowmeltError as error:
            if not isinstance(failures.failed("", error, 0, 0), RaisedError):
                raise
            data = {"errorCode": error.code, "sqlState": error.sqlstate, "queryId": query_id, "line": -1, "pos": -1}
            return {"data": data, "success": False, "code": error.code, "message": error.text}
        finally:
            if script is not None and script.transactions is not None:
                script.transactions.resume(session)

    def _executed(self, asked: Mapping[str, Any], query_id: str) -> dict[str, Any]:
        session = self._run.session
        request = QueryRequest(
            str(asked["sqlText"]), read_bindings(asked.get("bindings")), describe_only=bool(asked.get("describeOnly"))
        )
        outcome = execute_request(session, request, query_id)
        context: dict[str, Any] = {
            "finalDatabaseName": session.database, "finalSchemaName": session.schema,
            "finalWarehouseName": session.warehouse, "finalRoleName": session.role, "parameters": [],
        }  # fmt: skip
        if isinstance(outcome, DescribedStatement):
            return {**context, **described_data(outcome, query_id)}
        result = outcome.children[-1] if isinstance(outcome, Several) else outcome
        if asked.get("keep"):
            self._kept[result.query_id] = result
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return {**context, **_rendered(result)}


def _rendered(result: Result) -> dict[str, Any]:
    if result.row_count > _MOST_ROWS:
        raise SnowmeltError(
            "100357", "P0000", f"A procedure may fetch {_MOST_ROWS:,} rows at once.",
            hint="Aggregate or LIMIT in the statement, or leave the rows in a table.",
        )  # fmt: skip
    rows: list[list[str | None]] = []
    for piece in result.slices(_MOST_ROWS, 10_000):
        rows += json_rows(result.columns, piece, result.json_indent)
    data = {
        "queryId": result.query_id,
        "statementTypeId": rowtypes.statement_type_id(result.statement_type),
        "numberOfBinds": 0,
        "arrayBindSupported": False,
        "rowtype": [rowtypes.row_type(column) for column in result.columns],
        "rowset": rows,
        "total": len(rows),
        "returned": len(rows),
        "queryResultFormat": "json",
    }
    if result.statement_type in DML:
        data["stats"] = change_counts(result)
    return data


def _envelope(data: dict[str, Any]) -> dict[str, Any]:
    return {"data": data, "code": None, "message": None, "success": True}
