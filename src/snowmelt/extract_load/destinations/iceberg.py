"""Iceberg metadata of a Delta table, over the same Parquet files: readers of either format see the same rows.

`metadata/` in the table's folder is laid out as Iceberg's own file-system tables are: `v<N>.metadata.json`, where N is
the version of the Delta table plus one, `version-hint.text` with the newest N, and the manifests. Each `v<N>` is
complete in itself, and says one snapshot: that version's files. So it does not matter which were written before, how
often one is written, or who is faster; a reader finds whole versions only.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pyarrow as pa
import structlog
from deltalake import DeltaTable

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.destinations.iceberg_schemas import iceberg_schema
from snowmelt.extract_load.problems import shown
from snowmelt.extract_load.stores.opening import open_store
from snowmelt.storage.iceberg.columns import iceberg_type
from snowmelt.storage.iceberg.metadata import IcebergFile, IcebergSnapshot

_HINT = "version-hint.text"
_VERSION, _FILES = "snowmelt.delta-version", "snowmelt.delta-files"
_READABLE = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of a Delta table that leave its Parquet files as they are."""
_NUMBERED = re.compile(r"(?:v|snap-|files-)(\d+)[.-]")
_TIDY_EVERY = 100
_KEPT_SECONDS = 3600
"""How long a reader may take from the hint to the manifests that it leads to."""


class IcebergMetadata:
    """The metadata of one table. It follows the Delta commit: after a kill in between it is one version behind."""

    def __init__(self, address: str, settings: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(address)
        self._location = unquote(parts.path) if parts.scheme == "file" else address
        self._store = open_store(f"{address}/metadata", settings)

    def follow(self, table: DeltaTable) -> None:
        """Brings them to the table's version, if they are behind it. Again, right after, it finds nothing to do."""
        with self._errors():
            previous = self._current()
            if previous is not None and int(previous["properties"][_VERSION]) > table.version():
                # Somebody else was faster, or it is another table than the one that these are of.
                table.update_incremental()
            files = _files(table)
            if previous is not None:
                known = int(previous["properties"][_VERSION]), previous["properties"][_FILES]
                if known == (table.version(), _digest(files)):
                    return
                if known[0] >= table.version():
                    previous = None
            reason = _unreadable(table, files)
            if reason is not None or previous is None:
                # There may be numbers of another table, of which a reader would take the highest.
                self._withdraw()
            if reason is None:
                self._write(table, files, previous)
            else:
                log = structlog.get_logger("snowmelt.extract_load")
                log.warning("no iceberg metadata", table=shown(self._location), reason=reason)

    def _current(self) -> dict[str, Any] | None:
        """What readers of Iceberg see; None if that is nothing, or was in another folder."""
        try:
            found: dict[str, Any] = json.loads(self._text(f"v{int(self._text(_HINT))}.metadata.json"))
        except (FileNotFoundError, ValueError):
            return None
        return found if found["location"] == self._location and _FILES in found["properties"] else None

    def _write(self, table: DeltaTable, files: _Files, previous: dict[str, Any] | None) -> None:
        number = table.version() + 1
        schema, last_column = iceberg_schema(table.schema(), previous)
        listed = [
            IcebergFile(f"{self._location}/{unquote(file['path'])}", file["size_bytes"], file["num_records"])
            for file in files
        ]
        snapshot = IcebergSnapshot(uuid4().int >> 65, number, time.time_ns() // 1_000_000, listed)
        stamp = f"{number}-{uuid4()}.avro"
        manifest = snapshot.manifest(schema)
        self._put(manifest, f"files-{stamp}")
        self._put(snapshot.manifest_list(f"{self._location}/metadata/files-{stamp}", len(manifest)), f"snap-{stamp}")
        # The Parquet files have no ids of fields: names lead to them.
        names = [{"field-id": field["id"], "names": [field["name"]]} for field in schema["fields"]]
        # Not the id of the Delta table, which gets another one when MERGE adds a column.
        metadata = {
            **snapshot.metadata(schema, last_column, names, f"{self._location}/metadata/snap-{stamp}"),
            "location": self._location,
            "table-uuid": str(uuid4()) if previous is None else previous["table-uuid"],
        }
        metadata["properties"] |= {_VERSION: str(table.version()), _FILES: _digest(files)}
        self._store.put_text(json.dumps(metadata), f"v{number}.metadata.json")
        self._store.put_text(str(number), _HINT)
        if number % _TIDY_EVERY == 0:
            self._tidy(number)

    def _put(self, content: bytes, name: str) -> None:
        with TemporaryDirectory(prefix="snowmelt-") as folder:
            draft = Path(folder) / name
            draft.write_bytes(content)
            self._store.put(draft, name)

    def _withdraw(self) -> None:
        """Without the hint and these, it is no table of Iceberg."""
        self._store.remove(_HINT)
        for file in self._store.files("v*.metadata.json"):
            self._store.remove(file.name)

    def _tidy(self, number: int) -> None:
        """Removes what no reader looks at any more, and what killed runs left behind."""
        for file in self._store.files("*"):
            numbered = _NUMBERED.match(file.name)
            if numbered is None or file.modified is None:
                continue
            if int(numbered[1]) < number and file.modified < time.time() - _KEPT_SECONDS:
                self._store.remove(file.name)

    def _text(self, name: str) -> str:
        with self._store.local(name) as path:
            return path.read_text(encoding="utf-8")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SnowmeltError(
                "370024", "58030", f"The Iceberg metadata of {shown(self._location)} can't be written: {error}.",
                hint="The rows are committed to the Delta table; the next run brings the metadata up to them.",
            ) from None  # fmt: skip

    def close(self) -> None:
        self._store.close()


_Files = Sequence[Mapping[str, Any]]


def _files(table: DeltaTable) -> _Files:
    """Path, size_bytes and num_records of each."""
    found = pa.table(table.get_add_actions(flatten=True)).select(["path", "size_bytes", "num_records"])
    return cast(_Files, found.to_pylist())


def _digest(files: _Files) -> str:
    """Tells versions of two tables apart that have the same number."""
    return hashlib.sha256("\n".join(sorted(file["path"] for file in files)).encode()).hexdigest()


def _unreadable(table: DeltaTable, files: _Files) -> str | None:
    """Why Iceberg can't say what is in the table: somebody else made or changed it."""
    features = set(table.protocol().reader_features or ()) - _READABLE
    if features:
        return f"it uses {', '.join(sorted(features))}"
    if table.metadata().partition_columns:
        return f"it is partitioned by {', '.join(table.metadata().partition_columns)}"
    for field in table.schema().fields:
        if iceberg_type(str(field.type.type)) is None:
            return f"its column {field.name} is of type {field.type.type}"
    if any(file["num_records"] is None for file in files):
        return "its log does not say how many rows each file has"
    return None
