"""Buckets of S3 and GCS, by pyarrow's own file systems: an object appears whole when its upload is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError, shown
from snowmelt.extract_load.stores.base import FileStore, StoredFile
from snowmelt.extract_load.stores.patterns import matches

_PASSING = ("NETWORK_CONNECTION", "SLOW_DOWN", "INTERNAL_FAILURE", "SERVICE_UNAVAILABLE", "TIMEOUT", "THROTTLING",
            "UNAVAILABLE", "HTTP STATUS 500", "HTTP STATUS 502", "HTTP STATUS 503", "RETRY")  # fmt: skip


class ObjectStore(FileStore):
    def __init__(self, address: str, settings: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(address)
        self._shown = shown(address)
        self._root = f"{parts.netloc}{parts.path}".rstrip("/")
        self._system: Any = _SYSTEMS[parts.scheme](settings or {})

    def files(self, pattern: str) -> list[StoredFile]:
        with self._errors():
            found = self._system.get_file_info(fs.FileSelector(self._root, allow_not_found=True, recursive=True))
        names = {info.path.removeprefix(f"{self._root}/"): info for info in found if info.type == fs.FileType.File}
        return [
            StoredFile(name, info.size, info.mtime_ns / 1e9 if info.mtime_ns is not None else None)
            for name, info in sorted(names.items())
            if matches(name, pattern)
        ]

    def fetch(self, name: str, target: Path) -> None:
        path = f"{self._root}/{name}"
        with self._errors(), self._system.open_input_stream(path, compression=None) as read, target.open("wb") as made:
            shutil.copyfileobj(read, made)

    def put(self, source: Path, name: str) -> None:
        path = f"{self._root}/{name}"
        with self._errors(), source.open("rb") as read, self._system.open_output_stream(path, compression=None) as made:
            shutil.copyfileobj(read, made)

    def remove(self, name: str) -> None:
        with self._errors():
            if self._system.get_file_info(f"{self._root}/{name}").type != fs.FileType.NotFound:
                self._system.delete_file(f"{self._root}/{name}")

    def close(self) -> None:
        """There is no connection to let go."""

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            detail = str(error).splitlines()[0].rstrip(".")
            if any(word in str(error).upper() for word in _PASSING):
                raise SourceUnavailableError(self._shown, detail) from None
            hint = "Look at the bucket's name, its region, and what the credentials in the environment may do."
            raise SourceRefusedError(self._shown, detail, hint) from None


def _s3(settings: Mapping[str, str]) -> Any:
    """Credentials that are not given are looked for as AWS's own tools do."""
    endpoint = settings.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    arguments: dict[str, Any] = {
        "access_key": settings.get("access_key"), "secret_key": settings.get("secret_key"),
        "session_token": settings.get("session_token"), "connect_timeout": 10, "request_timeout": 60,
    }  # fmt: skip
    region = settings.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is not None:
        arguments["region"] = region
    if endpoint is not None:
        scheme, _, rest = endpoint.rpartition("://")
        arguments |= {"endpoint_override": rest.rstrip("/"), "scheme": scheme or "https"}
    return fs.S3FileSystem(**arguments)


def _gcs(settings: Mapping[str, str]) -> Any:
    """Credentials are those of GOOGLE_APPLICATION_CREDENTIALS or the machine; an emulator has none."""
    endpoint = settings.get("endpoint") or os.environ.get("STORAGE_EMULATOR_HOST")
    if endpoint is None:
        return fs.GcsFileSystem()
    scheme, _, rest = endpoint.rpartition("://")
    return fs.GcsFileSystem(anonymous=True, endpoint_override=rest.rstrip("/"), scheme=scheme or "https")


_SYSTEMS: dict[str, Callable[[Mapping[str, str]], Any]] = {"s3": _s3, "gs": _gcs}
