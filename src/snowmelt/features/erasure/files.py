"""Searching files: Parquet by its columns, everything else by its bytes.

Data files are compressed, so that their bytes say nothing. A value in a document is found as well: the binary form of a
VARIANT has texts as they are.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.govern.erasure.identifiers import Mentions

Keys = Mapping[str, frozenset[str]]
"""Values that name the person, by name of a column."""


def files_below(root: Path, left_out: Iterable[Path] = ()) -> Iterator[Path]:
    skipped = tuple(left_out)
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and not any(path.is_relative_to(each) for each in skipped):
            yield path


def has_person(path: Path, mentions: Mentions, keys: Keys) -> bool:
    """Whether a file has something of the person. One that went meanwhile has nothing."""
    try:
        if path.name.endswith(".parquet"):
            return _in_parquet(path, mentions, keys)
        return bool(mentions) and mentions.in_bytes(_content(path))
    except FileNotFoundError:
        return False


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            return gzip.decompress(content)
        except (OSError, EOFError):
            return content
    return content


def _in_parquet(path: Path, mentions: Mentions, keys: Keys) -> bool:
    try:
        opened = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        # Half a file, or none: its bytes are all that there is.
        return bool(mentions) and mentions.in_bytes(_content(path))
    with opened:
        for batch in opened.iter_batches():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if _has_text(column, mentions) or _has_key(column, keys.get(name.upper(), frozenset())):
                    return True
    return False


def _has_text(column: pa.Array, mentions: Mentions) -> bool:
    if not mentions:
        return False
    for leaf in _leaves(column):
        for spelling in mentions.spellings:
            pattern = spelling.encode() if pa.types.is_binary(leaf.type) else spelling
            if pc.any(pc.match_substring(leaf, pattern, ignore_case=pa.types.is_string(leaf.type))).as_py():
                return True
    return False


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    type_ = column.type
    if pa.types.is_struct(type_):
        for index in range(type_.num_fields):
            yield from _leaves(column.field(index))
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_map(type_):
        yield from _leaves(column.values if not pa.types.is_map(type_) else column.items)
        if pa.types.is_map(type_):
            yield from _leaves(column.keys)
    elif pa.types.is_dictionary(type_):
        yield from _leaves(column.dictionary)
    elif pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        yield column.cast(pa.string())
    elif pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        yield column.cast(pa.binary())
    elif pa.types.is_string(type_) or pa.types.is_binary(type_):
        yield column


def _has_key(column: pa.Array, values: frozenset[str]) -> bool:
    if not values or pa.types.is_nested(column.type):
        return False
    if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type) or pa.types.is_floating(column.type):
        wanted = {number for value in values if (number := _number(value)) is not None}
        return any(value is not None and _number(str(value)) in wanted for value in pc.unique(column).to_pylist())
    low = {value.lower() for value in values}
    return any(value is not None and str(value).lower() in low for value in pc.unique(column).to_pylist())


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
