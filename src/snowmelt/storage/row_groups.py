"""A data file from row groups of another one, as they are on disk, and from new rows.

Changing a few rows of a large file means decoding and encoding the row groups that hold them. The others are copied:
only their places in the file change, which the footer says. Columns that they lack are put beside them. The footer is
read and written here because no library that we use writes a row group that it did not encode itself.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from snowmelt.storage.parquet import write_parquet
from snowmelt.storage.thrift import LIST, STRUCT, Fields, Shape, as_integer, integer, read_struct, struct_as_bytes

_MAGIC = b"PAR1"

# FileMetaData
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_ENCRYPTED = {8, 9}
# RowGroup
_COLUMNS, _BYTES, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_COMPRESSED, _ORDINAL = 1, 2, 3, 5, 6, 7
# ColumnChunk
_ELSEWHERE, _CHUNK_OFFSET, _DESCRIBED = 1, 2, 3
_INDEXES, _CHUNK_ENCRYPTED = {4, 5, 6, 7}, {8, 9}
# ColumnMetaData
_COMPRESSED, _DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE = 7, 9, 10, 11
_BLOOM_FILTERS = {14, 15}
_TAKEN_APART: Shape = {_GROUPS: {_COLUMNS: {_DESCRIBED: {}}}}
"""How far a footer is taken apart: down to where the parts of row groups stand."""


class CopiedFooter:
    """What a Parquet file says of itself at its end."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    @classmethod
    def of(cls, file: BinaryIO) -> CopiedFooter:
        file.seek(-8, 2)
        length, magic = struct.unpack("<I4s", file.read(8))
        if magic != _MAGIC:
            raise ValueError("no Parquet file, or one whose footer is encrypted")
        file.seek(-8 - length, 2)
        return cls(read_struct(file.read(length), 0, _TAKEN_APART)[0])

    @classmethod
    def as_written(cls, rows: pa.Table) -> CopiedFooter:
        """The footer of a file that we write with these columns."""
        return _written_as(rows.schema.serialize().to_pybytes())

    @property
    def groups(self) -> list[Fields]:
        found: list[Fields] = self.fields[_GROUPS][1] if _GROUPS in self.fields else []
        return found

    def same_columns(self, other: CopiedFooter) -> bool:
        """Whether row groups of both can be in one file."""
        return bool(self.fields[_SCHEMA] == other.fields[_SCHEMA])

    @property
    def can_be_copied(self) -> bool:
        chunks = [chunk for group in self.groups for chunk in _chunks(group)]
        return self.fields.keys().isdisjoint(_ENCRYPTED) and not any(
            _ELSEWHERE in chunk or not chunk.keys().isdisjoint(_CHUNK_ENCRYPTED) for chunk in chunks
        )


@lru_cache(maxsize=64)
def _written_as(schema: bytes) -> CopiedFooter:
    """The footer of a file of ours with these columns: a serialized schema, of which every detail counts."""
    sink = pa.BufferOutputStream()
    write_parquet(pa.ipc.read_schema(pa.py_buffer(schema)).empty_table(), sink)
    with pa.BufferReader(sink.getvalue()) as written:
        return CopiedFooter.of(written)


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file whose row groups are copied."""

    path: Path
    footer: CopiedFooter
    written: CopiedFooter
    """What the new file says of its columns."""
    lacks_columns: bool
    """Each row group needs the last columns beside it, see `Widened`."""


@dataclass(frozen=True, slots=True)
class Widened:
    """A row group as it is on disk, by its number, and columns for its rows that it lacks."""

    number: int
    added: pa.Table


FilePart: TypeAlias = int | Widened | pa.Table
"""What a file is made of: row groups of its source by their numbers, and rows."""


def source_of(path: Path, written: CopiedFooter, narrower: CopiedFooter | None = None) -> CopiedFile | None:
    """The file, if its row groups can stand in one file with rows that are written so.

    `narrower`: the footer of rows without the last columns, which may be added to the row groups.
    """
    with path.open("rb") as file:
        footer = CopiedFooter.of(file)
    if not footer.can_be_copied:
        return None
    if footer.same_columns(written):
        return CopiedFile(path, footer, written, lacks_columns=False)
    if narrower is not None and footer.same_columns(narrower):
        return CopiedFile(path, footer, written, lacks_columns=True)
    return None


def splice(source: CopiedFile, target: Path, parts: Iterable[FilePart]) -> int:
    """Writes a file of these parts, in that order. How many rows it has."""
    with source.path.open("rb") as file, target.open("xb") as made:
        made.write(_MAGIC)
        described: list[Fields] = []
        for part in parts:
            for group in _row_groups(file, source.footer, part):
                moved = _moved(group.fields, made.tell() - group.start, len(described))
                described.append(moved)
                made.write(group.content)
        rows = sum(_integer(fields, _GROUP_ROWS) for fields in described)
        fields = {**source.written.fields, _ROWS: integer(rows), _GROUPS: (LIST, described)}
        text = struct_as_bytes(fields)
        made.write(text + struct.pack("<I", len(text)) + _MAGIC)
    return rows


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group, and the bytes that it is described for."""

    fields: Fields
    start: int
    content: bytes


def _row_groups(file: BinaryIO, footer: CopiedFooter, part: FilePart) -> list[_Group]:
    match part:
        case int():
            return [_on_disk(file, footer.groups[part])]
        case Widened():
            (added,) = _encoded(part.added, part.added.num_rows)
            return [_beside(_on_disk(file, footer.groups[part.number]), added)]
        case _:
            return _encoded(part)


def _encoded(rows: pa.Table, group_rows: int | None = None) -> list[_Group]:
    sink = pa.BufferOutputStream()
    write_parquet(rows, sink, group_rows)
    with pa.BufferReader(sink.getvalue()) as written:
        return [_on_disk(written, fields) for fields in CopiedFooter.of(written).groups]


def _beside(group: _Group, added: _Group) -> _Group:
    """One row group with the columns of both."""
    by = group.start + len(group.content) - added.start
    chunks = [*_chunks(group.fields), *(_moved_chunk(chunk, by) for chunk in _chunks(added.fields))]
    sizes = {
        field: integer(_integer(group.fields, field) + _integer(added.fields, field))
        for field in (_BYTES, _GROUP_COMPRESSED)
        if field in group.fields and field in added.fields
    }
    fields = {**group.fields, **sizes, _COLUMNS: (LIST, chunks)}
    return _Group(fields, group.start, group.content + added.content)


def _on_disk(file: BinaryIO, fields: Fields) -> _Group:
    spans = [_span(chunk[_DESCRIBED][1]) for chunk in _chunks(fields)]
    start = min(first for first, _ in spans)
    file.seek(start)
    return _Group(fields, start, file.read(max(end for _, end in spans) - start))


def _span(described: Fields) -> tuple[int, int]:
    offsets = [
        _integer(described, field) for field in (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE) if field in described
    ]
    start = min(offset for offset in offsets if offset > 0)
    return start, start + _integer(described, _COMPRESSED)


def _chunks(group: Fields) -> list[Fields]:
    found: list[Fields] = group[_COLUMNS][1]
    return found


def _moved(group: Fields, by: int, ordinal: int) -> Fields:
    """A row group at another offset."""
    chunks = [_moved_chunk(chunk, by) for chunk in _chunks(group)]
    moved = {**_shifted(group, (_GROUP_OFFSET,), by), _COLUMNS: (LIST, chunks)}
    if _ORDINAL in moved:
        kind, _ = moved.pop(_ORDINAL)
        if ordinal < 2**15:
            moved[_ORDINAL] = (kind, integer(ordinal)[1])
    return moved


def _moved_chunk(chunk: Fields, by: int) -> Fields:
    """A column of a row group. What lies outside of its bytes (bloom filters, page indexes) stays behind."""
    described = _shifted(chunk[_DESCRIBED][1], (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE), by)
    described = {field: value for field, value in described.items() if field not in _BLOOM_FILTERS}
    kept = {field: value for field, value in chunk.items() if field not in _INDEXES}
    return {**_shifted(kept, (_CHUNK_OFFSET,), by), _DESCRIBED: (STRUCT, described)}


def _shifted(fields: Fields, offsets: Sequence[int], by: int) -> Fields:
    """The fields called `offsets`, moved. An offset of 0 means none: a file begins with its magic."""
    moved = {each: integer(now + by) for each in offsets if each in fields and (now := _integer(fields, each)) > 0}
    return {**fields, **moved}


def _integer(fields: Fields, number: int) -> int:
    return as_integer(fields[number][1])
