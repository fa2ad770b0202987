"""Files of a web server. It lists nothing, so that a pattern is the name of one file; nothing can be put there."""

from __future__ import annotations

from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from snowmelt.core import errors
from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError, shown
from snowmelt.extract_load.stores.base import FileStore, StoredFile

_SECONDS = 60.0


class HttpStore(FileStore):
    def __init__(self, address: str, settings: dict[str, str] | None = None) -> None:
        token = (settings or {}).get("token")
        self._shown = shown(address)
        self._base = address.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(timeout=_SECONDS, follow_redirects=True, headers=headers)

    def files(self, pattern: str) -> list[StoredFile]:
        if "*" in pattern or "?" in pattern:
            raise errors.configuration(
                f"{self._shown} can't list its files.", hint="Name one file: a web server has no folders to look into."
            )
        with closing(self._request("HEAD", pattern)) as answer:
            size, modified = answer.headers.get("Content-Length"), answer.headers.get("Last-Modified")
        when = parsedate_to_datetime(modified).timestamp() if modified else None
        return [StoredFile(pattern, int(size) if size is not None else None, when)]

    def fetch(self, name: str, target: Path) -> None:
        with closing(self._request("GET", name)) as answer, target.open("wb") as written:
            try:
                for part in answer.iter_bytes():
                    written.write(part)
            except httpx.TransportError as error:
                raise SourceUnavailableError(self._shown, type(error).__name__) from None

    def put(self, source: Path, name: str) -> None:
        raise errors.configuration(f"{self._shown} is a web server: files are read from it, not written.")

    def remove(self, name: str) -> None:
        raise errors.configuration(f"{self._shown} is a web server: files are read from it, not removed.")

    def close(self) -> None:
        self._client.close()

    def _request(self, method: str, name: str) -> httpx.Response:
        request = self._client.build_request(method, f"{self._base}/{name}")
        try:
            answer = self._client.send(request, stream=True)
        except httpx.TransportError as error:
            raise SourceUnavailableError(self._shown, type(error).__name__) from None
        if answer.is_success:
            return answer
        answer.close()
        if answer.status_code == 429 or answer.status_code >= 500:
            raise SourceUnavailableError(self._shown, f"it answers {answer.status_code} for {name}")
        raise SourceRefusedError(self._shown, f"{answer.status_code} for {name}", "Check the name and the token.")
