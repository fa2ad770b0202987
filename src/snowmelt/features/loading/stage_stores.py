"""The file systems that stages lie in: local folders and object stores, the account's own and others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
from deltalake.fs import DeltaStorageHandler

from snowmelt.core import errors
from snowmelt.features.loading.local_files import LocalFiles
from snowmelt.runtime import protecting
from snowmelt.runtime.protocols import DataDirectory


class _Upload:
    """A file in an object store, whose own stream takes bytes only; Arrow hands it buffers."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.closed = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is there before it is whole."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._stream.close()


class _ObjectStore(DeltaStorageHandler):
    def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> Any:
        return pa.PythonFile(_Upload(self._handler.open_output_stream(path, None)), mode="w")


class _OutsideStore(_ObjectStore):
    """An object store that a statement names: the part of it where the account keeps its own data is not there."""

    def __init__(self, uri: str, options: dict[str, str], own: str | None) -> None:
        super().__init__(uri, options)
        self._uri = uri
        self._own = own

    def get_file_info(self, paths: list[str]) -> Any:
        return super().get_file_info([self._checked(path) for path in paths])

    def get_file_info_selector(self, selector: pafs.FileSelector) -> Any:
        self._checked(selector.base_dir)
        found = super().get_file_info_selector(selector)
        return [info for info in found if not protecting.is_own(f"{self._uri}/{info.path}", self._own)]

    def open_input_stream(self, path: str) -> Any:
        return super().open_input_stream(self._checked(path))

    def open_input_file(self, path: str) -> Any:
        return super().open_input_file(self._checked(path))

    def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> Any:
        return super().open_output_stream(self._checked(path), metadata)

    def delete_file(self, path: str) -> None:
        super().delete_file(self._checked(path))

    def move(self, src: str, dest: str) -> None:
        super().move(self._checked(src), self._checked(dest))

    def _checked(self, path: str) -> str:
        protecting.check_outside(f"{self._uri}/{path}", self._own)
        return path


def local_file(url: str) -> Path | None:
    """The path of a `file://` URL."""
    if not url.lower().startswith("file://"):
        return None
    return Path(unquote(url[len("file://") :])) if "%" in url else Path(url[len("file://") :])


def local_path(url: str) -> Path:
    """The path of the `file://` URL that PUT or GET names, made absolute as a client would."""
    found = local_file(url)
    assert found is not None
    return found.expanduser().absolute()


_SCHEMES = {"s3": "s3", "s3a": "s3a", "gcs": "gs", "gs": "gs", "azure": "azure", "abfss": "abfss", "az": "az"}


def outside_files(account: DataDirectory, uri: str) -> pafs.FileSystem:
    """The files of a URL that a statement named, without those of the account itself."""
    local = local_file(uri)
    if local is not None:
        return pafs.PyFileSystem(LocalFiles(local, protecting.of(account)))
    target, options = _target(uri), dict(account.settings.storage_options)
    return pafs.PyFileSystem(_OutsideStore(target, options, account.settings.storage_root))


def own_files(uri: str, options: Mapping[str, str]) -> pafs.FileSystem:
    """Files of the account's own."""
    if "://" not in uri or uri.lower().startswith("file://"):
        return pafs.SubTreeFileSystem(str(local_file(uri) or Path(uri)), pafs.LocalFileSystem())
    return pafs.PyFileSystem(_ObjectStore(_target(uri), dict(options)))


def check_object_url(uri: str) -> None:
    """Raises when no object store has such an address."""
    scheme, _, rest = uri.partition("://")
    if scheme.lower() not in _SCHEMES:
        raise errors.unsupported(f"the URL scheme '{scheme}'", hint=f"Known: file, {', '.join(sorted(_SCHEMES))}.")
    if not rest.partition("/")[0]:
        raise errors.invalid_value(uri, "URL")


def _target(uri: str) -> str:
    check_object_url(uri)
    scheme = uri.split("://", 1)[0].lower()
    return f"{_SCHEMES[scheme]}://{uri.split('://', 1)[1]}"
