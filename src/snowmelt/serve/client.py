"""A client of the server, with the same `execute` as a session in the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from snowmelt.core import errors
from snowmelt.core.error_json import error_from_json
from snowmelt.runtime.results import Result
from snowmelt.serve.credentials import ADMIN, read_local_token
from snowmelt.serve.wire import result_from_json
from snowmelt.sql.tokens import SqlText


class RemoteSession:
    """A session on a server. Close it when done."""

    def __init__(self, url: str, credentials: dict[str, str], names: dict[str, str | None]) -> None:
        self._url = url
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(None, connect=10.0))
        try:
            body = self._post(
                "/api/v1/sessions", {**credentials, **names}, "The server at {url} does not answer: {why}."
            )
        except BaseException:
            self._http.close()
            raise
        self._http.headers["authorization"] = f"Bearer {body['token']}"

    @classmethod
    def with_password(cls, url: str, password: str, **names: str | None) -> RemoteSession:
        return cls(url, {"user": ADMIN, "password": password}, names)

    @classmethod
    def of_directory(cls, url: str, data_dir: Path, **names: str | None) -> RemoteSession:
        """For the user who owns the data directory: its token stands for the password."""
        return cls(url, {"local_token": read_local_token(data_dir) or ""}, names)

    def execute(self, text: str | SqlText, binds: Sequence[Any] | None = None) -> Result:
        body = self._post(
            "/api/v1/statements",
            {"sql": text.sent if isinstance(text, SqlText) else text, "binds": binds},
            "The connection to the server at {url} was lost: {why}. Whether the statement took effect is not known.",
        )
        return result_from_json(body["result"])

    def close(self) -> None:
        try:
            self._http.delete("/api/v1/sessions/current")
        except httpx.HTTPError:
            # The session ended with its server.
            return
        finally:
            self._http.close()

    def _post(self, path: str, content: dict[str, Any], lost: str) -> dict[str, Any]:
        """The answer's content. `lost` is what to say when there is none."""
        try:
            answer = self._http.post(path, json=content)
            body: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise errors.configuration(lost.format(url=self._url, why=error)) from None
        if "error" in body:
            raise error_from_json(body["error"])
        return body
