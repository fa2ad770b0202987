"""A client of the server, with the same `execute` as a session in the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from snowmelt.core import errors
from snowmelt.core.error_json import error_from_json
from snowmelt.core.watching import Progress
from snowmelt.runtime.results import Result
from snowmelt.serve.credentials import ADMIN, read_local_token
from snowmelt.serve.wire import names_from_json, result_from_json
from snowmelt.sql.tokens import SqlText

_CURRENT = "/api/v1/statements/current"


class RemoteSession:
    """A session on a server. `cancel` and `progress` are for other threads. Close it when done."""

    def __init__(
        self, url: str, credentials: Mapping[str, str | None], names: Mapping[str, str | None] | None = None
    ) -> None:
        """`credentials`: `user` with `password`, `token` or `jwt`, or the `local_token` of a directory's owner."""
        self._url = url
        self._content = {**credentials, **(names or {})}
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(None, connect=10.0))
        try:
            body = self._post("/api/v1/sessions", self._content, "The server at {url} does not answer: {why}.")
        except BaseException:
            self._http.close()
            raise
        self._http.headers["authorization"] = f"Bearer {body['token']}"
        self.names = names_from_json(body["session"])

    @classmethod
    def with_password(cls, url: str, password: str, **names: str | None) -> RemoteSession:
        return cls(url, {"user": ADMIN, "password": password}, names)

    @classmethod
    def of_directory(cls, url: str, data_dir: Path, **names: str | None) -> RemoteSession:
        """A client of the user who owns the data directory, whose token stands for the password."""
        return cls(url, {"local_token": read_local_token(data_dir) or ""}, names)

    def execute(self, text: str | SqlText, binds: Sequence[Any] | None = None) -> Result:
        body = self._post(
            "/api/v1/statements",
            {"sql": text.sent if isinstance(text, SqlText) else text, "binds": binds},
            "The connection to the server at {url} was lost: {why}. Whether the statement took effect is not known.",
        )
        self.names = names_from_json(body["session"])
        return result_from_json(body["result"])

    def cancel(self) -> None:
        """Stops the statement that runs now. A server that is gone has stopped it."""
        self._ask("DELETE", _CURRENT)

    def progress(self) -> Progress | None:
        found = self._ask("GET", _CURRENT).get("progress")
        return None if found is None else Progress(**found)

    def another(self) -> RemoteSession:
        """Another session of the same user."""
        return RemoteSession(self._url, self._content)

    def close(self) -> None:
        self._ask("DELETE", "/api/v1/sessions/current")
        self._http.close()

    def _ask(self, method: str, path: str) -> dict[str, Any]:
        """The answer to what may go unanswered."""
        try:
            body: dict[str, Any] = self._http.request(method, path, timeout=10.0).json()
        except (httpx.HTTPError, ValueError):
            return {}
        return body

    def _post(self, path: str, content: Mapping[str, Any], lost: str) -> dict[str, Any]:
        """The answer's content. `lost` is what to say when there is none."""
        try:
            answer = self._http.post(path, json=content)
            body: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise errors.configuration(lost.format(url=self._url, why=error)) from None
        if "error" in body:
            raise error_from_json(body["error"])
        return body
