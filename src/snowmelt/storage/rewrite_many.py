"""Writing changed rows: the touched files are read and written anew slice by slice, in bounded memory.

Rows are known by file and position, stay in their files and keep their birthplaces. Neither the changes nor a file
need ever be in memory as a whole.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.storage.append import conform, new_file, spliced_file, write_file
from snowmelt.storage.columns import COLUMNS, KeptGroup, local_path, readable_path
from snowmelt.storage.folders import CHANGE_FOLDER
from snowmelt.storage.log import Action
from snowmelt.storage.origins import ORIGINS, as_origins, born_in, carries_origins, one_dictionary, with_origins
from snowmelt.storage.packing import KeptColumn, RowNumbers, packed
from snowmelt.storage.parquet import worth_threads
from snowmelt.storage.rewrite import (
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
from snowmelt.storage.rewritten import NewValues
from snowmelt.storage.row_groups import CopiedFile, CopiedFooter, FilePart, Widened, source_of
from snowmelt.storage.schema import as_type
from snowmelt.storage.snapshot import DataFile, FileList

_SLICE_ROWS = 128 * 1024
_SPLICED_GROUPS = 3
"""A file with fewer row groups is written anew in no time."""


class FileChanges(Protocol):
    """The changes of one file's rows, asked for once, from the first rows to the last."""

    def between(self, first: int, end: int) -> RowEdit:
        """The edits of the rows from `first` to before `end`."""
        ...


@dataclass(frozen=True, slots=True)
class ManyChanges:
    """What happens to the rows of one version of a table. No row is named twice."""

    by_file: Mapping[str, FileChanges]
    """By the last part of the file's path; only files with changed rows."""
    inserted: Iterable[pa.Table]


def write_changes(
    folder: Path, files: FileList, changes: RowChanges, location: str, *, origins: bool = False
) -> list[Action]:
    """Writes as `write_many` does, for changes that are in memory."""
    inserted = [] if changes.inserted is None else [changes.inserted]
    return write_many(folder, files, ManyChanges(by_file(changes), inserted), location, origins=origins)


def write_many(
    folder: Path, files: FileList, changes: ManyChanges, location: str, *, origins: bool
) -> list[Action]:  # fmt: skip
    """Write the new files; returns the `remove`, `add` and `cdc` actions that make them the table's.

    `origins`: rows that move, and the images in the change feed, carry where they were born. On failure no file is
    left.
    """
    by_name = {file_name(file.path): file for file in files.files}
    touched = [by_name[name] for name in changes.by_file]
    work = _Rewriting(folder, files.metadata.arrow_schema, location, feed=files.metadata.change_feed, origins=origins)
    # This thread takes the first group: of a few rows there is no other, and starting threads takes as long as writing.
    groups = list(grouped(touched))
    others = max(min(THREADS, os.cpu_count() or 1) - 1, 1)
    with ThreadPoolExecutor(others, thread_name_prefix="snowmelt-rewrite") as workers:
        try:
            jobs = [workers.submit(work.rewrite, group, changes.by_file) for group in groups[1:]]
            for group in groups[:1]:
                work.rewrite(group, changes.by_file)
            # Without removals the feed is read from the added files themselves.
            work.insert(changes.inserted, images=work.feed and bool(touched))
            for job in jobs:
                job.result()
            work.images.flush()
        except BaseException:
            workers.shutdown(cancel_futures=True)
            work.discard()
            raise
    return [*removals(touched), *work.actions]


class _Rewriting:
    """Files that are read, changed and written side by side, of which only slices are in memory."""

    def __init__(self, folder: Path, schema: pa.Schema, location: str, *, feed: bool, origins: bool) -> None:
        self._folder, self._schema, self._location, self._origins = folder, schema, location, origins
        self.feed = feed
        self.actions: list[Action] = []
        self.images = _Gathered(self._write_images)
        self._written: list[Path] = []

    def rewrite(self, files: Sequence[DataFile], changes: Mapping[str, FileChanges]) -> None:
        """Puts what becomes of some files into new ones, and the images of changed rows into the change feed."""
        if len(files) == 1 and (source := self._spliced_from(files[0])):
            self._splice(source, files[0], changes[file_name(files[0].path)])
            COLUMNS.replaced([local_path(files[0].uri)])
            return
        rows = _Gathered(self._write_rows)
        moved = _Moved(files)
        for file in files:
            name = file_name(file.path)
            for first, part in slices(file, self._schema, self._location, origins=self._origins):
                edit = changes[name].between(first, first + part.num_rows)
                moved.add(edit)
                edited = edited_rows(part, _counted_from(edit, first), feed=self.feed)
                rows.add(edited.rows)
                for image in edited.images:
                    self.images.add(image)
        if moved.in_order and not rows.flushed:
            rows.write = partial(self._write_rows, moved=moved)
        rows.flush()
        COLUMNS.replaced(local_path(file.uri) for file in files)

    def _spliced_from(self, file: DataFile) -> CopiedFile | None:
        """The file, if it is large, and as we would write it today but for the birthplaces of its rows."""
        path = Path(readable_path(file.uri))
        if pq.read_metadata(path).num_row_groups < _SPLICED_GROUPS:
            return None
        return source_of(path, *self._footers)

    @cached_property
    def _footers(self) -> tuple[CopiedFooter, CopiedFooter | None]:
        rows = self._schema.empty_table()
        plain = CopiedFooter.as_written(rows)
        return (CopiedFooter.as_written(with_origins(rows, "")), plain) if self._origins else (plain, None)

    def _splice(self, source: CopiedFile, file: DataFile, changes: FileChanges) -> None:
        """Puts what becomes of a file into a new one: row groups without changes are copied as they are."""
        path = new_file(self._folder)
        moved = _Moved([file])
        self._written.append(path)
        with pq.ParquetFile(source.path) as opened:
            added = spliced_file(self._parts(opened, source, changes, moved), source, path, self._schema)
        if added is None:
            path.unlink()
            return
        self.actions.append(added)
        COLUMNS.inherit_groups(str(path), moved.groups)
        if moved.in_order:
            gone = np.concatenate(moved.gone)
            COLUMNS.inherit(str(path), str(source.path), self._schema.names, gone, moved.new_values(self._schema))

    def _parts(
        self, opened: pq.ParquetFile, source: CopiedFile, changes: FileChanges, moved: _Moved
    ) -> Iterator[FilePart]:
        """The row groups that stay as they are, and the rows of the others. Notes what became of them."""
        name, first = source.path.name, 0
        for number in range(opened.metadata.num_row_groups):
            count = opened.metadata.row_group(number).num_rows
            edit = changes.between(first, first + count)
            moved.add(edit)
            known = COLUMNS.of_group(str(source.path), number)
            born = born_in(name, count, first) if source.lacks_columns else None
            if edit.is_empty:
                moved.add_group(count, known)
                yield number if born is None else Widened(number, born)
            else:
                part = self._group(opened, number, name, born)
                edited = edited_rows(part, _counted_from(edit, first), feed=self.feed)
                for image in edited.images:
                    self.images.add(image)
                if edited.rows.num_rows:
                    moved.add_group(edited.rows.num_rows, _packed(edited.rows, known))
                    yield one_dictionary(edited.rows).combine_chunks()
            first += count

    def _group(self, opened: pq.ParquetFile, number: int, name: str, born: pa.Table | None) -> pa.Table:
        found = opened.read_row_group(number)
        rows = conform(found.select(self._schema.names), self._schema, self._location)
        if not self._origins:
            return rows
        return with_origins(rows, name, as_origins(found.select(ORIGINS)) if born is None else born)

    def insert(self, inserted: Iterable[pa.Table], *, images: bool) -> None:
        def write(rows: pa.Table) -> None:
            path = self._write_rows(rows)
            if images:
                self.images.add(insert_image(rows, path, origins=self._origins))

        gathered = _Gathered(write)
        for part in inserted:
            gathered.add(conform(part, self._schema, self._location))
        gathered.flush()

    def _write_rows(self, rows: pa.Table, moved: _Moved | None = None) -> Path:
        """`moved`: these are all rows of one file, and what became of them."""
        path = new_file(self._folder)
        self._written.append(path)
        self.actions.append(write_file(rows, path))
        if moved is not None:
            same = [name for name in rows.column_names if name not in moved.changed]
            COLUMNS.inherit(str(path), local_path(moved.files[0].uri), same, np.concatenate(moved.gone), {})
        COLUMNS.keep_rows(str(path), rows, COLUMNS.asked_of(str(path), rows.column_names))
        return path

    def _write_images(self, images: pa.Table) -> None:
        path = self._folder / CHANGE_FOLDER / f"cdc-00000-{uuid.uuid4()}.c000.zstd.parquet"
        self._written.append(path)
        self.actions.append(write_feed(images, path))

    def discard(self) -> None:
        for path in self._written:
            path.unlink(missing_ok=True)


class _Moved:
    """What became of the rows of files, as far as it tells which columns a new file inherits."""

    def __init__(self, files: Sequence[DataFile]) -> None:
        self.files = files
        self.in_order = len(files) == 1
        """Whether rows that stay follow each other as they did in one file."""
        self.changed: set[str] = set()
        self.gone: list[RowNumbers] = []
        self._updated: list[pa.Table] = []
        self.groups: list[KeptGroup] = []
        """What becomes of row groups, in the order of the new file."""

    def add_group(self, rows: int, columns: Mapping[str, KeptColumn]) -> None:
        start = self.groups[-1].start + self.groups[-1].rows if self.groups else 0
        self.groups.append(KeptGroup(start, rows, columns))

    def add(self, edit: RowEdit) -> None:
        self.in_order = self.in_order and edit.in_order
        self.changed |= edit.changed
        self.gone.append(edit.gone)
        self._updated += edit.updated

    def new_values(self, schema: pa.Schema) -> dict[str, NewValues]:
        """The rows that changed in each column, with their new values."""
        return {name: self._new_values(schema.field(name)) for name in schema.names if name in self.changed}

    def _new_values(self, column: pa.Field) -> NewValues:
        parts = [part for part in self._updated if column.name in part.column_names]
        rows = np.concatenate([part.column(ROW).to_numpy() for part in parts])
        chunks = [as_type(part.column(column.name).combine_chunks(), column.type) for part in parts]
        order = np.argsort(rows)
        return rows[order], pa.concat_arrays(chunks).take(pa.array(order))


class _Gathered:
    """Rows that are written whenever there are enough of them for a file. Threads may add to one side by side."""

    def __init__(self, write: Callable[[pa.Table], object]) -> None:
        self.write = write
        self.flushed = False
        self._parts: list[pa.Table] = []
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        with self._lock:
            full = self._taken() if self._bytes >= PART_BYTES else []
            self._parts.append(rows)
            self._bytes += rows.nbytes
        self._write(full)

    def flush(self) -> None:
        with self._lock:
            left = self._taken()
        self._write(left)

    def _taken(self) -> list[pa.Table]:
        parts, self._parts, self._bytes = self._parts, [], 0
        return parts

    def _write(self, parts: Sequence[pa.Table]) -> None:
        if parts:
            self.flushed = True
            # Rows that were changed here and there come in very many pieces.
            self.write(one_dictionary(pa.concat_tables(parts)).combine_chunks())


def _packed(rows: pa.Table, names: Iterable[str]) -> dict[str, KeptColumn]:
    return {name: packed(rows.column(name).combine_chunks()) for name in names if name in rows.column_names}


def _counted_from(edit: RowEdit, first: int) -> RowEdit:
    """The changes with positions in a slice that begins at row `first`."""
    deleted = _from(edit.deleted, first) if edit.deleted is not None else None
    return RowEdit(deleted, [_from(part, first) for part in edit.updated])


def _from(rows: pa.Table, first: int) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(ROW), ROW, pc.subtract(rows.column(ROW), first))


def slices(file: DataFile, schema: pa.Schema, location: str, *, origins: bool) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a file in the table's schema, piece by piece, each with the place of its first row in the file."""
    name = file_name(file.path)
    with pq.ParquetFile(readable_path(file.uri)) as opened:
        present = set(opened.schema_arrow.names)
        wanted = [column for column in schema.names if column in present]
        carried = origins and carries_origins(opened)
        first = 0
        # A file that has none of the columns still has rows, which any other column counts.
        read = wanted or opened.schema_arrow.names[:1]
        chosen = [*read, *(ORIGINS if carried else ())]
        for batch in opened.iter_batches(_SLICE_ROWS, columns=chosen, use_threads=worth_threads(opened)):
            found = pa.Table.from_batches([batch])
            rows = conform(found.select(wanted), schema, location) if wanted else _nulls(schema, batch.num_rows)
            if origins:
                known = as_origins(found.select(ORIGINS)) if carried else born_in(name, batch.num_rows, first)
                rows = with_origins(rows, name, known)
            yield first, rows
            first += batch.num_rows


def _nulls(schema: pa.Schema, count: int) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(count, field.type) for field in schema], schema=schema)
