"""Where tables live: one folder per table below a root, on a local disk or in an object store."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.fs
from deltalake.fs import DeltaStorageHandler

from snowmelt.core.errors import configuration, internal

LOG_FOLDER = "_delta_log"
FILES_FOLDER = "_files"
"""Below the root, for files that are not tables': stages. No table's location begins with `_`."""
STAGING = "_staging-"
"""Below the root, the beginning of the names of folders that last as long as a statement."""
_UNSAFE = re.compile(r"[^a-z0-9_]+")
_OWN_NAME = re.compile(r"-[0-9a-f]{8}\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Spark expands these in every path it is given, so a file list below such a root could not be read.
_GLOB = frozenset("*?[]{}\\")


class StorageRoot:
    """The folder that holds every managed table.

    A location names a table's folder relative to the root; a location that is itself a URI or an absolute
    path stands for a table that other tools own, and is used as it is.
    """

    def __init__(self, uri: str, options: Mapping[str, str] = {}) -> None:
        self.options = dict(options)
        local = _local_path(uri)
        self.is_local = local is not None
        self.uri = str(local.resolve()) if local is not None else uri.rstrip("/")
        if _GLOB & set(self.uri):
            raise configuration(
                f"The storage folder '{self.uri}' has one of the characters * ? [ ] {{ }} \\ in its path.",
                hint="Spark would read them as a pattern. Choose another folder.",
            )

    def uri_of(self, location: str) -> str:
        """The table's folder as delta-rs and Spark take it: a plain absolute path, or an object store's
        URI."""
        if _SCHEME.match(location) or location.startswith("/"):
            local = _local_path(location)
            return str(local) if local is not None else location.rstrip("/")
        return f"{self.uri}/{location.strip('/')}"

    def is_local_table(self, location: str) -> bool:
        if _SCHEME.match(location) or location.startswith("/"):
            return _local_path(location) is not None
        return self.is_local

    def path(self, location: str) -> Path:
        if not self.is_local_table(location):
            raise internal(f"the table at '{self.uri_of(location)}' is not on a local disk")
        return Path(self.uri_of(location))

    def new_location(self, database: str, schema: str, name: str) -> str:
        """A folder nothing else uses. The id keeps a dropped table apart from its successor of the same
        name."""
        return f"{_readable(database)}/{_readable(schema)}/{_readable(name)}-{uuid.uuid4().hex[:8]}"

    def filesystem(self, location: str = "") -> pyarrow.fs.FileSystem:
        """The files below a location, by relative path, through delta-rs' own object-store client."""
        uri = self.uri_of(location) if location else self.uri
        return pyarrow.fs.PyFileSystem(DeltaStorageHandler(uri, self.options))

    def remove(self, location: str) -> None:
        """Delete the table's folder. Nothing happens when it does not exist."""
        if self.is_local_table(location):
            shutil.rmtree(self.path(location), ignore_errors=True)
            return
        files = self.filesystem(location)
        # The log goes last: a removal that stops half-way leaves something `locations` still finds.
        listed = files.get_file_info(pyarrow.fs.FileSelector("", recursive=True, allow_not_found=True))
        paths = [info.path for info in listed if info.type == pyarrow.fs.FileType.File]
        for path in sorted(paths, key=lambda path: path.startswith(LOG_FOLDER)):
            files.delete_file(path)

    def remove_staging(self) -> None:
        """Delete what statements left behind that never ended."""
        if self.is_local:
            for folder in Path(self.uri).glob(f"{STAGING}*"):
                shutil.rmtree(folder, ignore_errors=True)

    def folders(self) -> Iterator[str]:
        """Every location below the root that is named as `new_location` does, with a Delta log or without."""
        found = self.locations()
        if self.is_local:
            root = Path(self.uri)
            found = (path.relative_to(root).as_posix() for path in sorted(root.glob("*/*/*")) if path.is_dir())
        yield from (location for location in found if _OWN_NAME.search(location))

    def locations(self) -> Iterator[str]:
        """Every location below the root that holds a Delta log."""
        if self.is_local:
            root = Path(self.uri)
            for log in sorted(root.glob(f"*/*/*/{LOG_FOLDER}")):
                location = log.parent.relative_to(root).as_posix()
                if not location.startswith(f"{FILES_FOLDER}/"):
                    yield location
            return
        selector = pyarrow.fs.FileSelector("", recursive=True, allow_not_found=True)
        listed = self.filesystem().get_file_info(selector)
        marker = f"/{LOG_FOLDER}/"
        found = {info.path.split(marker)[0].lstrip("/") for info in listed if marker in info.path}
        yield from sorted(location for location in found if not location.startswith(f"{FILES_FOLDER}/"))


def _local_path(uri: str) -> Path | None:
    if uri.startswith("file:"):
        return Path(unquote(urlsplit(uri).path))
    return None if _SCHEME.match(uri) else Path(uri)


def _readable(name: str) -> str:
    return _UNSAFE.sub("_", name.lower()).strip("_")[:48] or "x"
