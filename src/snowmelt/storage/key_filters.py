"""Which keys a data file may have: filters that say no for sure, so that a file is not read for keys that it lacks.

A filter is a Bloom filter whose bits for one key lie in one block of 64 bytes: asking for a key touches one page of the
file that the filter lies in. Data files never change, so that a filter stays true; losing one costs reading the key
columns of a file again. See `docs/design/quality.md`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snowmelt.storage.packing import KeptColumn

Hashes = npt.NDArray[np.uint64]
Bits = npt.NDArray[np.uint8]

WORTH_ROWS = 50_000
"""Smaller files are read faster than a filter is made."""
_BITS_PER_KEY = 20
"""One key in some thousand seems to be there and is not."""
_BLOCK_BITS = 512
_PROBES = 7
_BITS = 9
_MOST_BYTES = 4 << 30
_MOST_OPEN = 4096
_CHUNK = 1 << 16
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hashes_of(columns: Sequence[pa.Array]) -> Hashes | None:
    """One number a row, the same for equal keys of the same types; None for types that it has none for."""
    total: Hashes | None = None
    for column in columns:
        found = _hashed(column)
        if found is None:
            return None
        total = found if total is None else _mixed(total * np.uint64(31) + found)
    return total


def _hashed(values: pa.Array) -> Hashes | None:
    type_ = values.type
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return _of_texts(values)
    if pa.types.is_decimal128(type_):
        words = _words(values, 2)
        return _mixed(_mixed(words[:, 0]) + words[:, 1])
    if pa.types.is_integer(type_) or pa.types.is_temporal(type_):
        wide = values.cast(pa.int64()) if type_.bit_width == 64 else values.cast(pa.int32()).cast(pa.int64())
        return _mixed(_words(wide, 1)[:, 0])
    return None


def _words(values: pa.Array, count: int) -> Hashes:
    """The values as they lie in memory, so many words each. Where one is NULL, whatever lies there."""
    buffer = values.buffers()[1]
    words = np.frombuffer(buffer, np.uint64, count * len(values), values.offset * count * 8)
    return words.reshape(-1, count)


def _of_texts(values: pa.Array) -> Hashes:
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4).astype(np.int64)
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    found = np.zeros(len(values), np.uint64)
    for length in np.unique(lengths):
        chosen = np.flatnonzero(lengths == length)
        for start in range(0, len(chosen), _CHUNK):
            part = chosen[start : start + _CHUNK]
            found[part] = _of_bytes(data, offsets[part], int(length))
    return found


def _of_bytes(data: Bits, starts: npt.NDArray[np.int64], length: int) -> Hashes:
    """Texts of one length, eight bytes at a time."""
    padded = np.zeros((len(starts), (length + 7) // 8 * 8), np.uint8)
    if length:
        padded[:, :length] = data[starts[:, None] + np.arange(length)]
    total = np.full(len(starts), length, np.uint64)
    for word in padded.view(np.uint64).T:
        total = _mixed(total + word)
    return total


def _mixed(values: Hashes) -> Hashes:
    """Numbers that differ in one bit become numbers that have nothing in common (splitmix64)."""
    mixed = values + _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _bit_numbers(hashes: Hashes, blocks: int) -> npt.NDArray[np.int64]:
    """The numbers of the bits that stand for each key."""
    first = ((hashes >> np.uint64(32)) * np.uint64(blocks)) >> np.uint64(32)
    more = _mixed(hashes)
    shifts = np.arange(_PROBES, dtype=np.uint64) * np.uint64(_BITS)
    inside = (more[:, None] >> shifts) & np.uint64(_BLOCK_BITS - 1)
    return (first[:, None] * np.uint64(_BLOCK_BITS) + inside).astype(np.int64)


def made(hashes: Hashes) -> Bits:
    """The filter of these keys."""
    blocks = max(len(hashes) * _BITS_PER_KEY // _BLOCK_BITS, 1)
    bits = np.zeros(blocks * _BLOCK_BITS, np.bool_)
    for start in range(0, len(hashes), _CHUNK):
        bits[_bit_numbers(hashes[start : start + _CHUNK], blocks)] = True
    return np.packbits(bits, bitorder="little")


def may_have(filter_: Bits, hashes: Hashes) -> bool:
    """False only if the file has none of the keys."""
    bits = _bit_numbers(hashes, len(filter_) * 8 // _BLOCK_BITS)
    present = (filter_[bits >> 3] >> (bits & 7).astype(np.uint8)) & 1
    return bool(present.all(axis=1).any())


class KeyFilters:
    """The filters of data files, in a folder of their own. Safe to use from many threads."""

    def __init__(self, folder: Path, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._opened: OrderedDict[str, Bits | None] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, file: str, columns: Sequence[str]) -> Bits | None:
        """The filter of a data file's key; None when nobody has made one."""
        name = _name(file, columns)
        with self._lock:
            if name in self._opened:
                self._opened.move_to_end(name)
                return self._opened[name]
        found: Bits | None = None
        with contextlib.suppress(OSError, ValueError):
            found = np.memmap(self._folder / name, np.uint8, "r")
        self._remember(name, found)
        return found

    def learn(self, file: str, columns: Sequence[str], hashes: Hashes) -> None:
        """Makes the filter of a data file from all its keys. A disk that is full only costs the next search."""
        name, bits = _name(file, columns), made(hashes)
        path = self._folder / name
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            written = path.with_suffix(f".{uuid.uuid4().hex}")
            bits.tofile(written)
            written.replace(path)
            self._make_room()
        self._remember(name, bits)

    def _remember(self, name: str, found: Bits | None) -> None:
        with self._lock:
            self._opened[name] = found
            while len(self._opened) > _MOST_OPEN:
                self._opened.popitem(last=False)

    def _make_room(self) -> None:
        """Removes what was made the longest ago, once there is too much of it."""
        with os.scandir(self._folder) as entries:
            known = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.name) for entry in entries)
        excess = sum(size for _, size, _ in known) - self._most_bytes
        for _, size, name in known:
            if excess <= 0:
                return
            (self._folder / name).unlink()
            excess -= size


@dataclass(frozen=True, slots=True)
class SoughtKeys:
    """Keys that somebody looks for in many files."""

    filters: KeyFilters
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    """With their types: equal numbers of two types have two hashes."""
    hashes: Hashes

    @classmethod
    def of(cls, filters: KeyFilters, keys: pa.Table) -> SoughtKeys | None:
        """The keys as filters look for them; None if no filter can be made of them."""
        found = hashes_of([column.combine_chunks() for column in keys.columns])
        labels = tuple(f"{field.name} {field.type}" for field in keys.schema)
        return cls(filters, tuple(keys.column_names), labels, found) if found is not None else None

    def rules_out(self, file: str) -> bool:
        """Whether the file has none of the keys for sure."""
        known = self.filters.find(file, self.labels)
        return known is not None and not may_have(known, self.hashes)

    def learn(self, file: str, columns: Mapping[str, KeptColumn], rows: int) -> None:
        """Somebody had to read all keys of the file: nobody needs to again."""
        if rows < WORTH_ROWS or self.filters.find(file, self.labels) is not None:
            return
        if all(name in columns for name in self.columns):
            everywhere = np.arange(rows)
            hashes = hashes_of([columns[name].take(everywhere) for name in self.columns])
            if hashes is not None:
                self.filters.learn(file, self.labels, hashes)


def _name(file: str, columns: Sequence[str]) -> str:
    return hashlib.sha256("\0".join((file, *columns)).encode()).hexdigest()[:40] + ".keys"
