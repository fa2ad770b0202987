"""Changing many rows: the touched files are read and written anew slice by slice, in bounded memory.

As in `storage.rewrite` rows are known by file and position, stay in their files and keep their birthplaces. Neither
the changes nor a file need ever be in memory as a whole.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.storage.append import conform, new_file, write_file
from snowmelt.storage.columns import local_path
from snowmelt.storage.log import Action
from snowmelt.storage.origins import ORIGINS, as_origins, born_in, carries_origins, one_dictionary, with_origins
from snowmelt.storage.rewrite import (
    CHANGE_FOLDER,
    PART_BYTES,
    ROW,
    THREADS,
    RowChanges,
    RowEdit,
    by_file,
    edited_rows,
    file_name,
    grouped,
    insert_image,
    removals,
    write_feed,
)
from snowmelt.storage.snapshot import DataFile, FileList

_SLICE_ROWS = 128 * 1024


class FileChanges(Protocol):
    """The changes of one file's rows, asked for once, from the first rows to the last."""

    def between(self, first: int, end: int) -> RowChanges:
        """Those of the rows from `first` on, before `end`. Nothing is inserted."""
        ...


@dataclass(frozen=True, slots=True)
class ManyChanges:
    """What happens to the rows of one version of a table. No row is named twice."""

    by_file: Mapping[str, FileChanges]
    """By the last part of the file's path; only files with changed rows."""
    inserted: Iterable[pa.Table]


def write_many(
    folder: Path, files: FileList, changes: ManyChanges, location: str, *, origins: bool
) -> list[Action]:  # fmt: skip
    """As `storage.rewrite.write_changes`. On failure no file is left."""
    touched = [file for file in files.files if file_name(file.path) in changes.by_file]
    work = _Rewriting(folder, files.metadata.arrow_schema, location, feed=files.metadata.change_feed, origins=origins)
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1), thread_name_prefix="snowmelt-rewrite") as workers:
        try:
            jobs = [workers.submit(work.rewrite, group, changes.by_file) for group in grouped(touched)]
            # Without removals the feed is read from the added files themselves.
            work.insert(changes.inserted, images=work.feed and bool(touched))
            for job in jobs:
                job.result()
        except BaseException:
            workers.shutdown(cancel_futures=True)
            work.discard()
            raise
    return [*removals(touched), *work.actions]


@dataclass(slots=True)
class _Rewriting:
    folder: Path
    schema: pa.Schema
    location: str
    feed: bool
    origins: bool
    actions: list[Action] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)

    def rewrite(self, files: Sequence[DataFile], changes: Mapping[str, FileChanges]) -> None:
        """Puts what becomes of some files into new ones, and the images of changed rows into the change feed."""
        rows, images = _Gathered(self._write_rows), _Gathered(self._write_images)
        for file in files:
            name = file_name(file.path)
            for first, part in slices(file, self.schema, self.location, origins=self.origins):
                edit = _edit(changes[name].between(first, first + part.num_rows), name, first)
                if edit is None:
                    rows.add(part)
                    continue
                edited = edited_rows(part, edit, feed=self.feed)
                rows.add(edited.rows)
                for image in edited.images:
                    images.add(image)
        rows.flush()
        images.flush()

    def insert(self, inserted: Iterable[pa.Table], *, images: bool) -> None:
        def write(rows: pa.Table) -> None:
            path = self._write_rows(rows)
            if images:
                self._write_images(insert_image(rows, path, origins=self.origins))

        gathered = _Gathered(write)
        for part in inserted:
            gathered.add(conform(part, self.schema, self.location))
        gathered.flush()

    def _write_rows(self, rows: pa.Table) -> Path:
        path = new_file(self.folder)
        self.written.append(path)
        self.actions.append(write_file(rows, path))
        return path

    def _write_images(self, images: pa.Table) -> None:
        path = self.folder / CHANGE_FOLDER / f"cdc-00000-{uuid.uuid4()}.c000.zstd.parquet"
        self.written.append(path)
        self.actions.append(write_feed(images, path))

    def discard(self) -> None:
        for path in self.written:
            path.unlink(missing_ok=True)


@dataclass(slots=True)
class _Gathered:
    """Rows that are written whenever there are enough of them for a file."""

    write: Callable[[pa.Table], object]
    parts: list[pa.Table] = field(default_factory=list)
    bytes: int = 0

    def add(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self.parts.append(rows)
        self.bytes += rows.nbytes
        if self.bytes >= PART_BYTES:
            self.flush()

    def flush(self) -> None:
        if self.parts:
            # Rows that were changed here and there come in very many pieces.
            self.write(one_dictionary(pa.concat_tables(self.parts)).combine_chunks())
        self.parts, self.bytes = [], 0


def _edit(changes: RowChanges, name: str, first: int) -> RowEdit | None:
    """The changes of a slice that begins at row `first`, with places in that slice; None when there are none."""
    edit = by_file(changes).get(name)
    if edit is None:
        return None
    deleted = _from(edit.deleted, first) if edit.deleted is not None else None
    return RowEdit(deleted, [_from(part, first) for part in edit.updated])


def _from(rows: pa.Table, first: int) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(ROW), ROW, pc.subtract(rows.column(ROW), first))


def slices(file: DataFile, schema: pa.Schema, location: str, *, origins: bool) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a file in the table's schema, piece by piece, each with the place of its first row in the file."""
    name = file_name(file.path)
    with pq.ParquetFile(local_path(file.uri)) as opened:
        present = set(opened.schema_arrow.names)
        wanted = [column for column in schema.names if column in present]
        carried = origins and carries_origins(opened)
        first = 0
        # A file that has none of the columns still has rows, which any other column counts.
        read = wanted or opened.schema_arrow.names[:1]
        for batch in opened.iter_batches(_SLICE_ROWS, columns=[*read, *(ORIGINS if carried else ())]):
            found = pa.Table.from_batches([batch])
            rows = conform(found.select(wanted), schema, location) if wanted else _nulls(schema, batch.num_rows)
            if origins:
                known = as_origins(found.select(ORIGINS)) if carried else born_in(name, batch.num_rows, first)
                rows = with_origins(rows, name, known)
            yield first, rows
            first += batch.num_rows


def _nulls(schema: pa.Schema, count: int) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(count, field.type) for field in schema], schema=schema)
