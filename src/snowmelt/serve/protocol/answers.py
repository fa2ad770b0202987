"""What clients get: always HTTP 200 with `success`, because they repeat requests that get most other codes."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from snowmelt.core.errors import SnowmeltError

QUERY_IN_PROGRESS = "333333"
ASYNC_IN_PROGRESS = "333334"
SESSION_EXPIRED = "390112"
_NEXT_ACTIONS = {"390106": "PWD_CHANGE"}
"""What a client may do about an error: ask its user for a new password, and log in with both."""


class ProtocolAnswer(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def envelope(data: Any, *, success: bool = True, code: str | None = None, message: str | None = None) -> dict[str, Any]:
    return {"data": data, "code": code, "message": message, "success": success}


def failure(error: SnowmeltError, query_id: str | None = None) -> dict[str, Any]:
    """An error as the connectors read it; they put code and SQLSTATE before the message by themselves."""
    data = {
        "internalError": False,
        "errorCode": error.code,
        "sqlState": error.sqlstate,
        "queryId": query_id,
        "line": -1,
        "pos": -1,
        "type": "COMPILATION" if error.message.startswith("SQL compilation error") else "EXECUTION",
    }
    if error.code in _NEXT_ACTIONS:
        data["nextAction"] = _NEXT_ACTIONS[error.code]
    return envelope(data, success=False, code=error.code, message=error.text)


def in_progress(query_id: str, code: str) -> dict[str, Any]:
    data = {"queryId": query_id, "getResultUrl": f"/queries/{query_id}/result", "queryAbortsAfterSecs": 300,
            "progressDesc": None}  # fmt: skip
    return envelope(data, code=code, message="Query execution in progress.")
