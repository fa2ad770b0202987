"""Files of a folder, a bucket, or an SFTP or web server, each once; a file whose content changes comes again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.extract_load.options import CHARACTER, COUNT, S3, SFTP, STORES, TEXT, Known, one_of
from snowmelt.extract_load.records import Batch
from snowmelt.extract_load.sources.base import (
    BATCH_ROWS,
    Extractor,
    SourceDescription,
    TableToRead,
    read_json_place,
)
from snowmelt.extract_load.sources.formats import Chunk, chunks, format_of
from snowmelt.extract_load.stores.base import FileStore, StoredFile
from snowmelt.extract_load.stores.opening import open_store

_SETTLED_SECONDS = 3.0
"""Times of change are as coarse as a second or two in places: a younger file is looked into to be sure."""


@dataclass(slots=True)
class _Known:
    """A file that was loaded."""

    digest: str
    stamp: str | None
    """Size and time of change, as long as nothing could have changed without being seen in them."""


@dataclass(slots=True)
class _Progress:
    known: dict[str, _Known] = field(default_factory=dict)
    name: str | None = None
    """The file that is being read."""
    digest: str = ""
    items: int = 0
    """How many of its items are given."""

    @classmethod
    def read(cls, place: str | None) -> _Progress:
        if place is None:
            return cls()
        data = read_json_place(place, "files")
        known = {name: _Known(digest, stamp) for name, (digest, stamp) in data["files"].items()}
        return cls(known, *data.get("reading", ()))

    def place(self) -> str:
        files = {name: (known.digest, known.stamp) for name, known in sorted(self.known.items())}
        reading = {"reading": (self.name, self.digest, self.items)} if self.name is not None else {}
        return json.dumps({"files": files, **reading}, separators=(",", ":"))


class FilesExtractor(Extractor):
    """CSV, TSV, JSON, JSON lines, Parquet and Avro files beneath an address whose names match a pattern.

    `settings` are those of the store: region and endpoint of a bucket, password or private_key of an SFTP server.
    """

    def __init__(
        self, address: str | Path, pattern: str, *, file_format: str | None = None, delimiter: str = ",",
        settings: Mapping[str, str] | None = None, batch_rows: int = BATCH_ROWS,
    ) -> None:  # fmt: skip
        self.address, self.pattern, self.settings = address, pattern, dict(settings or {})
        self.file_format, self.delimiter, self.batch_rows = file_format, delimiter, batch_rows

    def extract(self, after: str | None) -> Iterator[Batch]:
        progress = _Progress.read(after)
        store = open_store(self.address, self.settings)
        try:
            # One that was begun comes first: a new one before it must not make it begin anew.
            for file in sorted(store.files(self.pattern), key=lambda file: (file.name != progress.name, file.name)):
                yield from self._file(store, file, progress)
        finally:
            store.close()

    def _file(self, store: FileStore, file: StoredFile, progress: _Progress) -> Iterator[Batch]:
        stamp = _stamp(file)
        known = progress.known.get(file.name)
        if known is not None and stamp is not None and known.stamp == stamp:
            return
        with store.local(file.name) as path:
            digest = _digest(path)
            if known is not None and known.digest == digest:
                known.stamp = stamp
                return
            if (progress.name, progress.digest) != (file.name, digest):
                progress.name, progress.digest, progress.items = file.name, digest, 0
            yield from self._batches(path, file.name, progress, _Known(digest, stamp))

    def _batches(self, path: Path, name: str, progress: _Progress, known: _Known) -> Iterator[Batch]:
        """The place behind the last one says that the file is done, which takes one chunk of looking ahead."""
        file_format = self.file_format or format_of(name)
        found = chunks(path, file_format, self.batch_rows, skip=progress.items, delimiter=self.delimiter)
        held = next(found, None) or Chunk()
        for following in found:
            progress.items += held.items
            yield _batch(held, progress.place(), name)
            held = following
        progress.known[name] = known
        progress.name = None
        yield _batch(held, progress.place(), name)


def _batch(chunk: Chunk, place: str, name: str) -> Batch:
    return Batch(chunk.rows, place, name, chunk.positions, chunk.rejected)


def _stamp(file: StoredFile) -> str | None:
    if file.modified is None or file.size is None or time.time() - file.modified < _SETTLED_SECONDS:
        return None
    return f"{file.size}:{file.modified:.6f}"


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def _read(table: TableToRead) -> Extractor:
    options = table.options
    return FilesExtractor(
        table.endpoint.where(), table.name, file_format=options.get("format"), delimiter=options.get("delimiter", ","),
        settings=table.endpoint.settings(), batch_rows=table.batch_rows,
    )  # fmt: skip


_OPTIONS: Known = {
    "batch_rows": COUNT, "format": one_of("csv", "tsv", "json", "jsonl", "parquet", "avro"), "delimiter": CHARACTER,
}  # fmt: skip
FILES = (
    SourceDescription("files", _OPTIONS, STORES, _read, "incoming"),
    SourceDescription("s3", _OPTIONS, S3, _read, "s3://bucket/prefix"),
    SourceDescription("gcs", _OPTIONS, {"endpoint": TEXT}, _read, "gs://bucket/prefix"),
    SourceDescription("sftp", _OPTIONS, SFTP, _read, "sftp://user@host:22/folder", "sftp"),
)
