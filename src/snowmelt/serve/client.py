"""A client of the server, with the same `execute` as a session in the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from snowmelt.core import errors
from snowmelt.serve.credentials import ADMIN, read_local_token
from snowmelt.serve.wire import error_from_json, result_from_json
from snowmelt.service.results import Result
from snowmelt.sql.tokens import SqlText


class RemoteSession:
    """A session on a server. Close it when done."""

    def __init__(self, url: str, credentials: dict[str, str], names: dict[str, str | None]) -> None:
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(None, connect=10.0))
        try:
            answer = self._http.post("/api/v1/sessions", json={**credentials, **names})
        except httpx.HTTPError as error:
            raise errors.configuration(f"The server at {url} does not answer: {error}.") from None
        body = answer.json()
        if "error" in body:
            raise error_from_json(body["error"])
        self._http.headers["authorization"] = f"Bearer {body['token']}"

    @classmethod
    def with_password(cls, url: str, password: str, **names: str | None) -> RemoteSession:
        return cls(url, {"user": ADMIN, "password": password}, names)

    @classmethod
    def of_directory(cls, url: str, data_dir: Path, **names: str | None) -> RemoteSession:
        """For the user who owns the data directory: its token stands for the password."""
        return cls(url, {"local_token": read_local_token(data_dir) or ""}, names)

    def execute(self, text: str | SqlText, binds: Sequence[Any] | None = None) -> Result:
        answer = self._http.post("/api/v1/statements", json={"sql": str(text), "binds": binds})
        body = answer.json()
        if "error" in body:
            raise error_from_json(body["error"])
        return result_from_json(body["result"])

    def close(self) -> None:
        try:
            self._http.delete("/api/v1/sessions/current")
        finally:
            self._http.close()
