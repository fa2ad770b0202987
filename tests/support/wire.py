"""Snowflake's protocol in a few lines, for tests that look at the answers themselves."""

from __future__ import annotations

import uuid
from typing import Any

import httpx

IN_PROGRESS = "333333"


class WireSession:
    """A session as a client has it: log in, send statements, read answers."""

    def __init__(self, url: str, password: str, user: str = "admin") -> None:
        self._http = httpx.Client(base_url=url, timeout=240)
        body = {"data": {"LOGIN_NAME": user, "PASSWORD": password, "CLIENT_APP_ID": "test", "ACCOUNT_NAME": "x"}}
        answer = self._http.post("/session/v1/login-request", json=body).json()
        assert answer["success"], answer
        self._http.headers["Authorization"] = f'Snowflake Token="{answer["data"]["token"]}"'

    def send(self, sql: str, request_id: str | None = None, **more: Any) -> dict[str, Any]:
        """The answer, whatever it is."""
        asked = {"requestId": request_id or str(uuid.uuid4())}
        found: dict[str, Any] = self._http.post(
            "/queries/v1/query-request", params=asked, json={"sqlText": sql, **more}
        ).json()
        while found["code"] == IN_PROGRESS:
            found = self._http.get(found["data"]["getResultUrl"]).json()
        return found

    def rows(self, sql: str) -> list[list[Any]]:
        answer = self.send(sql)
        assert answer["success"], answer
        found: list[list[Any]] = answer["data"]["rowset"]
        return found

    def abort(self, request_id: str) -> None:
        self._http.post("/queries/v1/abort-request", json={"requestId": request_id})

    def close(self) -> None:
        self._http.close()
