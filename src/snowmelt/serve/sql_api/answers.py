"""The API's answers: an HTTP status with a JSON object that has Snowflake's code, a message and a handle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.results import Result
from snowmelt.runtime.wire.requests import MULTIPLE_DONE
from snowmelt.serve.protocol.answers import ASYNC_IN_PROGRESS
from snowmelt.serve.sql_api.partitions import Partitions

STATEMENTS = "/api/v2/statements"
_DONE, _CANCELLED, _TIMED_OUT = "090001", "000604", "000630"
_STATUS = {
    "390189": 400, "391920": 413, "370002": 429, "390201": 429, "390202": 429, "370005": 503, _TIMED_OUT: 408,
    "000709": 404,
}  # fmt: skip
"""HTTP statuses of errors. Of a request that carries no valid token it is 401, of a statement 422."""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What a finished statement is answered with, whoever asks for it and how often."""

    status: int
    content: bytes
    link: str = ""

    def response(self) -> Response:
        headers = {"link": self.link} if self.link else {}
        return Response(self.content, self.status, headers, "application/json")


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _response(status: int, body: Mapping[str, Any]) -> Response:
    return Response(_json(body), status, media_type="application/json")


def _address(handle: str) -> str:
    return f"{STATEMENTS}/{handle}"


def _links(handle: str, last: int) -> str:
    numbers = {"first": 0, **({"next": 1} if last else {}), "last": last}
    return ",".join(f'<{_address(handle)}?partition={number}>; rel="{name}"' for name, number in numbers.items())


def succeeded(handle: str, created_on: int, found: Partitions, result: Result, children: Sequence[str]) -> ApiAnswer:
    message = MULTIPLE_DONE if children else "Statement executed successfully."
    body: dict[str, Any] = {
        "resultSetMetaData": found.metadata, "data": found.first, "code": _DONE, "sqlState": "00000",
        "statementHandle": handle, "statementStatusUrl": _address(handle), "message": message, "createdOn": created_on,
    }  # fmt: skip
    if children:
        body["statementHandles"] = list(children)
    if result.rows_affected is not None:
        verbs = ("inserted", "updated", "deleted")
        body["stats"] = {f"numRows{verb.title()}": result.changes.get(verb, 0) for verb in verbs}
    return ApiAnswer(200, _json(body), _links(handle, found.count - 1))


def failed(error: SnowmeltError, handle: str, created_on: int) -> ApiAnswer:
    body = {
        "code": error.code, "sqlState": error.sqlstate, "message": error.text, "statementHandle": handle,
        "createdOn": created_on, "statementStatusUrl": _address(handle),
    }  # fmt: skip
    return ApiAnswer(_STATUS.get(error.code, 422), _json(body))


def refused(error: SnowmeltError, otherwise: int = 400) -> Response:
    """A request that no statement came of."""
    body = {"code": error.code, "sqlState": error.sqlstate, "message": error.text}
    return _response(_STATUS.get(error.code, otherwise), body)


def in_progress(handle: str) -> Response:
    message = "Asynchronous execution in progress. Use provided query id to perform query monitoring and management."
    body = {
        "code": ASYNC_IN_PROGRESS, "message": message, "statementHandle": handle, "statementStatusUrl": _address(handle)
    }  # fmt: skip
    return _response(202, body)


def cancelled(handle: str) -> Response:
    body = {
        "code": _CANCELLED, "sqlState": "57014", "message": "successfully canceled", "statementHandle": handle,
        "statementStatusUrl": _address(handle),
    }  # fmt: skip
    return _response(200, body)
