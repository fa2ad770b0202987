"""Columns of data files, kept in memory while they are in use.

Data files never change, so that what was decoded once stays true. Searches by key come back to the same columns of the
same files: each refresh of each dynamic table over a source looks for its keys there.
"""

from __future__ import annotations

import heapq
import itertools
import os
import re
import threading
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.storage.object_caches import OBJECT_CACHES
from snowmelt.storage.packing import ChangedColumn, KeptColumn, PartOfColumn, RowNumbers, packed
from snowmelt.storage.rewritten import NewValues, Rewritten, RewrittenFiles

_MOST_BYTES = max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4, 256 * 1024 * 1024)
"""A quarter of the machine's memory."""
_MOST_BYTES_EACH = 64 * 1024 * 1024
_MOST_CHUNKS = 200_000
"""The most entries of all kept footers together: one is a column of a row group, some hundred bytes."""
_LATELY_SECONDS = 900
_MOST_REPLACED = 100_000
_MARKED_VARIANT = re.compile(r"group field_id=-?\d+ (.*) \(Variant")
WHOLE = -1
"""In place of a row group: all of the file."""
ColumnKey = tuple[str, int, str]
"""A file, a row group, a column."""


@dataclass(frozen=True, slots=True)
class KeptGroup:
    """Rows of a new file, from the one numbered `start` on, and those of their columns that are in memory."""

    start: int
    rows: int
    columns: Mapping[str, KeptColumn]


class ColumnCache:
    """The most recently used columns, up to so many bytes. Safe to use from many threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[ColumnKey, KeptColumn] = OrderedDict()
        self._of_file: dict[str, set[ColumnKey]] = defaultdict(set)
        self._shared: Counter[int] = Counter()
        """In how many places each column is kept, by its identity: files share those that did not change."""
        self._read: set[str] = set()
        """Files of which something was found here."""
        self._replaced: dict[str, int] = {}
        """Files that are a table's no more, with numbers that grow."""
        self._oldest: list[tuple[int, str]] = []
        """A heap of those of which something is kept, and of some of which nothing is any more."""
        self._numbers = itertools.count()
        self._rewritten = RewrittenFiles()
        self._asked: dict[tuple[str, str], float] = {}
        """When a column of a table was last asked for, in whichever of its files."""
        self._lock = threading.Lock()

    def find(self, keys: Iterable[ColumnKey]) -> dict[str, KeptColumn]:
        """The columns that are cached, or come of those that are, by their names."""
        found: dict[str, KeptColumn] = {}
        missing: list[ColumnKey] = []
        with self._lock:
            for key in keys:
                column = self._kept.get(key)
                if column is not None:
                    self._kept.move_to_end(key)
                    self._read.add(key[0])
                    found[key[2]] = column
                elif key[1] == WHOLE:
                    missing.append(key)
        for path, _, name in missing:
            column = self._rewritten.column(path, name, self._whole)
            if column is not None:
                self.keep((path, WHOLE, name), column)
                found[name] = column
        return found

    def _whole(self, path: str, name: str) -> KeptColumn | None:
        return self._kept.get((path, WHOLE, name))

    def ask(self, path: str, names: Iterable[str]) -> None:
        """Columns of a file's table are being read: they will be again, after the table has changed."""
        now = time.monotonic()
        for name in names:
            self._asked[_folder(path), name] = now

    def asked_of(self, path: str, names: Iterable[str]) -> list[str]:
        """Columns of a file's table that were read lately."""
        since = time.monotonic() - _LATELY_SECONDS
        return [name for name in names if self._asked.get((_folder(path), name), 0.0) > since]

    def keep_rows(self, path: str, rows: pa.Table, names: Iterable[str]) -> None:
        """Columns of a file that was just written: while its rows are here, they need not be decoded later."""
        for name in names:
            if (path, WHOLE, name) not in self._kept:
                self.keep((path, WHOLE, name), packed(rows.column(name).combine_chunks()))

    def inherit(
        self, path: str, replaced: str, names: Iterable[str], gone: RowNumbers, changed: Mapping[str, NewValues]
    ) -> None:
        """Columns of a file that was just written in place of another one, without some rows, with some other values,
        and otherwise the same. Rows are those of the file that was replaced."""
        rewritten = Rewritten(replaced, frozenset(names), gone, changed)
        self._rewritten.note(path, rewritten)
        for name, before in self._peek((replaced, WHOLE, name) for name in names).items():
            inherited = rewritten.column(name, before)
            if inherited is not None:
                self.keep((path, WHOLE, name), inherited)

    def of_group(self, path: str, group: int) -> dict[str, KeptColumn]:
        """The columns that are kept of one row group, by their names."""
        with self._lock:
            return {key[2]: self._kept[key] for key in self._of_file.get(path, ()) if key[1] == group}

    def inherit_groups(self, path: str, parts: Iterable[KeptGroup]) -> None:
        """Columns of a file that was just written from row groups of another one, where they became row groups."""
        footer: Footer | None = None
        for part in parts:
            if not part.columns:
                continue
            footer = footer or FOOTERS.get(path)
            group = int(np.searchsorted(footer.starts, part.start))
            if group < len(footer.rows) and (footer.starts[group], footer.rows[group]) == (part.start, part.rows):
                for name, column in part.columns.items():
                    self.keep((path, group, name), column)

    def _peek(self, keys: Iterable[ColumnKey]) -> dict[str, KeptColumn]:
        with self._lock:
            return {key[2]: self._kept[key] for key in keys if key in self._kept}

    def replaced(self, paths: Iterable[str]) -> None:
        """Files that are a table's no more. Nobody needs those that nobody searched: of several changes in a row only
        the last counts. The others are searched for the old values of what changed, for a while."""
        with self._lock:
            for path in paths:
                self._replaced[path] = next(self._numbers)
                if path not in self._read:
                    self._drop_all_of(path)
                elif path in self._of_file:
                    heapq.heappush(self._oldest, (self._replaced[path], path))
            while len(self._replaced) > _MOST_REPLACED:
                del self._replaced[next(iter(self._replaced))]

    def keep(self, key: ColumnKey, column: KeptColumn) -> None:
        if column.nbytes > _MOST_BYTES_EACH:
            return
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = column
            if key[0] not in self._of_file and key[0] in self._replaced:
                heapq.heappush(self._oldest, (self._replaced[key[0]], key[0]))
            self._of_file[key[0]].add(key)
            for part in _parts(column):
                self._shared[id(part)] += 1
                if self._shared[id(part)] == 1:
                    self._bytes += part.nbytes
            while self._bytes > self._most_bytes:
                self._drop(self._least_needed())

    def _least_needed(self) -> ColumnKey:
        """A column of the file that was replaced the longest ago, or else the column that was not read the longest."""
        while self._oldest and self._oldest[0][1] not in self._of_file:
            heapq.heappop(self._oldest)
        return next(iter(self._of_file[self._oldest[0][1]] if self._oldest else self._kept))

    def _drop_all_of(self, path: str) -> None:
        for key in list(self._of_file.get(path, ())):
            self._drop(key)

    def _drop(self, key: ColumnKey) -> None:
        path = key[0]
        column = self._kept.pop(key)
        self._of_file[path].discard(key)
        if not self._of_file[path]:
            del self._of_file[path]
            self._read.discard(path)
        for part in _parts(column):
            self._shared[id(part)] -= 1
            if not self._shared[id(part)]:
                del self._shared[id(part)]
                self._bytes -= part.nbytes


def _parts(column: KeptColumn) -> tuple[KeptColumn, ...]:
    """What takes memory of its own."""
    match column:
        case PartOfColumn():
            return (column, *_parts(column.whole))
        case ChangedColumn():
            return (column, *_parts(column.before))
        case _:
            return (column,)


COLUMNS = ColumnCache()
"""The cache of this process."""


class Footer:
    """What a data file says of itself."""

    def __init__(self, metadata: pq.FileMetaData) -> None:
        self.metadata = metadata
        self._bounds: dict[str, list[tuple[Any, Any] | None]] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.metadata.schema.to_arrow_schema().names)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The number of rows in each row group."""
        return tuple(self.metadata.row_group(number).num_rows for number in range(self.metadata.num_row_groups))

    @cached_property
    def starts(self) -> RowNumbers:
        """The number of each row group's first row."""
        return np.cumsum((0, *self.rows[:-1]))

    @cached_property
    def _leaves(self) -> dict[str, int]:
        schema = self.metadata.schema
        return {schema.column(index).path: index for index in range(self.metadata.num_columns)}

    @property
    def total(self) -> int:
        return sum(self.rows)

    @property
    def chunks(self) -> int:
        """What it takes in memory, roughly: columns of row groups."""
        return int(self.metadata.num_row_groups * self.metadata.num_columns + 8)

    @cached_property
    def marked_variants(self) -> frozenset[str]:
        """Columns of two parts that are marked as a VARIANT. pyarrow tells that in the schema's text only."""
        return frozenset(_MARKED_VARIANT.findall(str(self.metadata.schema)))

    def bounds(self, group: int, name: str) -> tuple[Any, Any] | None:
        """The smallest and the largest value of a column in a row group, as far as the file says."""
        if name not in self._bounds:
            leaf = self._leaves[name]
            self._bounds[name] = [_bounds(self.metadata, number, leaf) for number in range(len(self.rows))]
        return self._bounds[name][group]


def _bounds(metadata: pq.FileMetaData, group: int, leaf: int) -> tuple[Any, Any] | None:
    statistics = metadata.row_group(group).column(leaf).statistics
    if statistics is None or not statistics.has_min_max:
        return None
    try:
        return statistics.min, statistics.max
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError, ValueError):
        return None  # such as a year that Python has no date for


class Footers:
    """The footers of data files, which never change: those used last. Safe to use from many threads."""

    def __init__(self, most_chunks: int = _MOST_CHUNKS) -> None:
        self._most_chunks = most_chunks
        self._chunks = 0
        self._kept: OrderedDict[str, Footer] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def kept(self) -> int:
        return len(self._kept)

    def get(self, path: str) -> Footer:
        with self._lock:
            found = self._kept.get(path)
            if found is not None:
                self._kept.move_to_end(path)
                return found
        return self.keep(path, pq.read_metadata(OBJECT_CACHES.opened(path)))

    def keep(self, path: str, metadata: pq.FileMetaData) -> Footer:
        """The footer of a file; whoever wrote it need not read it again."""
        footer = Footer(metadata)
        with self._lock:
            if path in self._kept:
                return self._kept[path]
            self._kept[path] = footer
            self._chunks += footer.chunks
            while self._chunks > self._most_chunks and len(self._kept) > 1:
                self._chunks -= self._kept.popitem(last=False)[1].chunks
        return footer


FOOTERS = Footers()
"""Of this process."""


class ColumnReader:
    """Reads one file, row group by row group. It is opened only for columns that are not in memory."""

    def __init__(self, uri: str, cache: ColumnCache = COLUMNS) -> None:
        self._path = local_path(uri)
        self._cache = cache
        self._opened: pq.ParquetFile | None = None
        self.footer = FOOTERS.get(self._path)

    def __enter__(self) -> ColumnReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            self._opened.close()

    def read(self, group: int, wanted: Iterable[pa.Field]) -> dict[str, KeptColumn]:
        """Columns of a row group, or of the whole file, in the types of the table; those that it lacks are left out."""
        fields = [field for field in wanted if field.name in self.footer.names]
        found = self._known(group, [field.name for field in fields])
        missing = [field.name for field in fields if field.name not in found]
        if missing:
            opened = self._file()
            rows = opened.read(missing) if group == WHOLE else opened.read_row_group(group, missing)
            for name in missing:
                found[name] = packed(rows.column(name).combine_chunks())
                self._cache.keep((self._path, group, name), found[name])
        return {field.name: found[field.name].of_type(field.type) for field in fields}

    def in_memory(self, names: Iterable[str]) -> bool:
        """Whether all of the file is, in these columns."""
        present = [name for name in names if name in self.footer.names]
        return len(self._known(WHOLE, present)) == len(present)

    def _known(self, group: int, names: Iterable[str]) -> dict[str, KeptColumn]:
        found = self._cache.find((self._path, group, name) for name in names)
        rows = self.footer.total if group == WHOLE else self.footer.rows[group]
        return {name: column for name, column in found.items() if len(column) == rows}

    def _file(self) -> pq.ParquetFile:
        if self._opened is None:
            source = OBJECT_CACHES.opened(self._path)
            self._opened = pq.ParquetFile(source, metadata=self.footer.metadata, pre_buffer=not isinstance(source, str))
        return self._opened


def file_columns(path: str) -> frozenset[str]:
    """The names of the columns that a local file has."""
    return FOOTERS.get(path).names


def marked_variants(path: str) -> frozenset[str]:
    """Columns of a local file that are marked as VARIANTs."""
    return FOOTERS.get(path).marked_variants


def row_count(path: str) -> int:
    """How many rows a local file has."""
    return FOOTERS.get(path).total


def local_path(uri: str) -> str:
    """Where a file is read here. One of an object store may have to be fetched first: `readable_path`."""
    return uri.removeprefix("file://") if uri.startswith(("file://", "/")) else OBJECT_CACHES.local_path(uri)


def readable_path(uri: str) -> str:
    """The same, once the file is there. Raises FileNotFoundError."""
    return OBJECT_CACHES.present(local_path(uri))


def _folder(path: str) -> str:
    return path.rsplit("/", 1)[0]
