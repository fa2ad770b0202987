"""Where tables live: one folder per table below a root, on a local disk or in an object store."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from snowmelt.core.errors import configuration, internal
from snowmelt.core.object_stores import S3Address
from snowmelt.storage.folders import LocalFolder, ObjectFolder
from snowmelt.storage.object_caches import KEPT, OBJECT_CACHES, ObjectCache
from snowmelt.storage.objects import ObjectFiles

CACHE_BYTES = 10 << 30
CACHE_FOLDER = "store_cache"
"""In the data directory, for copies of files in an object store."""
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

    def __init__(
        self, uri: str, options: Mapping[str, str] = {}, *, cache: Path | None = None, cache_bytes: int = CACHE_BYTES
    ) -> None:
        """`cache`: where copies of an object store's files lie, a folder of this process alone."""
        local = _local_path(uri)
        self.is_local = local is not None
        self.cache: ObjectCache | None = None
        self.address: S3Address | None = None
        if local is not None:
            self.uri, self.options = str(local.resolve()), dict(options)
        else:
            self.address = S3Address.of(uri, options, os.environ)
            self.uri, self.options = self.address.uri, self.address.for_delta()
        if _GLOB & set(self.uri):
            raise configuration(
                f"The storage folder '{self.uri}' has one of the characters * ? [ ] {{ }} \\ in its path.",
                hint="Spark would read them as a pattern. Choose another folder.",
            )
        if self.address is not None:
            folder = cache or Path(tempfile.mkdtemp(prefix="snowmelt-store-"))
            self.cache = ObjectCache(ObjectFiles(self.address), folder, cache_bytes)
            OBJECT_CACHES.add(self.cache)

    def close(self) -> None:
        if self.cache is not None:
            OBJECT_CACHES.remove(self.cache)
            self.cache.close()

    def uri_of(self, location: str) -> str:
        """The table's folder as delta-rs and Spark take it: a plain absolute path, or an object store's
        URI."""
        if _SCHEME.match(location) or location.startswith("/"):
            local = _local_path(location)
            return str(local) if local is not None else location.rstrip("/")
        return f"{self.uri}/{location.strip('/')}"

    def is_local_table(self, location: str) -> bool:
        """Whether the table's files lie on a disk."""
        if _SCHEME.match(location) or location.startswith("/"):
            return _local_path(location) is not None
        return self.is_local

    def is_readable(self, location: str) -> bool:
        """Whether the table's files can be read and written in this process: on a disk, or through the cache."""
        return self.is_local_table(location) or self._cached(location) is not None

    def folder(self, location: str) -> LocalFolder | ObjectFolder:
        cache = self._cached(location)
        return LocalFolder(self.path(location)) if cache is None else ObjectFolder(cache, location.strip("/"))

    def path(self, location: str) -> Path:
        """Where files of the table are written and read. See `storage.folders`."""
        cache = self._cached(location)
        if cache is not None:
            path = cache.path(location.strip("/"))
            path.mkdir(parents=True, exist_ok=True)
            return path
        if not self.is_local_table(location):
            raise internal(f"the table at '{self.uri_of(location)}' is not on a local disk")
        return Path(self.uri_of(location))

    def beside(self, location: str) -> Path:
        """Where files lie that go with a table and that only this machine reads. In an object store's stead they are on
        its disk; a table must be able to do without."""
        cache = self._cached(location)
        return self.path(location) if cache is None else cache.path(KEPT) / location.strip("/")

    def _cached(self, location: str) -> ObjectCache | None:
        return None if _SCHEME.match(location) or location.startswith("/") else self.cache

    @property
    def scratch(self) -> Path:
        """A folder on this machine's disk for files that last as long as a statement."""
        return Path(self.uri) if self.cache is None else self.cache.folder

    def new_location(self, database: str, schema: str, name: str) -> str:
        """A folder nothing else uses. The id keeps a dropped table apart from its successor of the same
        name."""
        return f"{_readable(database)}/{_readable(schema)}/{_readable(name)}-{uuid.uuid4().hex[:8]}"

    def remove(self, location: str) -> None:
        """Delete the table's folder. Nothing happens when it does not exist."""
        cache = self._cached(location)
        if cache is None:
            if self.is_local_table(location):
                shutil.rmtree(self.path(location), ignore_errors=True)
            return
        paths = [found.path for found in cache.files.below(location.strip("/"))]
        # The log goes last: a removal that stops half-way leaves something `locations` still finds.
        marker = f"/{LOG_FOLDER}/"
        cache.files.delete([path for path in paths if marker not in path])
        cache.files.delete([path for path in paths if marker in path])
        cache.forget_below(location.strip("/"))
        shutil.rmtree(self.beside(location), ignore_errors=True)

    def remove_staging(self) -> None:
        """Delete what statements left behind that never ended. (A cache starts empty.)"""
        if self.is_local:
            for folder in Path(self.uri).glob(f"{STAGING}*"):
                shutil.rmtree(folder, ignore_errors=True)

    def folders(self) -> Iterator[str]:
        """Every location below the root that is named as `new_location` does, with a Delta log or without."""
        if self.cache is not None:
            found = _below(self.cache.files, "", 3)
        else:
            root = Path(self.uri)
            found = (path.relative_to(root).as_posix() for path in sorted(root.glob("*/*/*")) if path.is_dir())
        yield from (location for location in found if _OWN_NAME.search(location))

    def locations(self) -> Iterator[str]:
        """Every location below the root that holds a Delta log."""
        if self.cache is not None:
            for location in _below(self.cache.files, "", 3):
                if any(folder.endswith(f"/{LOG_FOLDER}") for folder in self.cache.files.inside(location)[0]):
                    yield location
            return
        root = Path(self.uri)
        for log in sorted(root.glob(f"*/*/*/{LOG_FOLDER}")):
            location = log.parent.relative_to(root).as_posix()
            if not location.startswith(f"{FILES_FOLDER}/"):
                yield location


def _below(files: ObjectFiles, folder: str, depth: int) -> Iterator[str]:
    """The folders of tables, so many levels down."""
    for found in files.inside(folder)[0]:
        path = found.strip("/")
        if path.split("/", 1)[0] == FILES_FOLDER:
            continue
        if depth == 1:
            yield path
        else:
            yield from _below(files, path, depth - 1)


def _local_path(uri: str) -> Path | None:
    if uri.startswith("file:"):
        return Path(unquote(urlsplit(uri).path))
    return None if _SCHEME.match(uri) else Path(uri)


def _readable(name: str) -> str:
    return _UNSAFE.sub("_", name.lower()).strip("_")[:48] or "x"
