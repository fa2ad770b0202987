"""Columns in as few bytes as their values take, to be searched.

Within a row group numbers are close together and words are few: most columns then take one, two or four bytes a value
where Arrow takes eight or sixteen. More of a table stays in memory, and a search reads less of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.storage.schema import as_type

_WORTH_SORTED_ROWS = 1024
_WIDTHS = (np.uint8, np.uint16, np.uint32, np.uint64)
_MOST_SPREAD = 2**63 - 1
_MOST_DIGITS = 18
_MOST_WORDS = 256
_SAMPLE_ROWS, _SAMPLE_WORDS = 512, 64
_MARK_BITS = 22
"""A table of yes and no has at most so many bits' worth of entries. Of values further apart, several share one."""
_MOST_GONE = 0.1
"""The share of a column's rows beyond which it is not worth its memory for the others."""
_MOST_CHANGED = 0.1
"""The share of its values beyond which those that are others cost more than a column of their own."""
RowNumbers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64]


class Test(Protocol):
    def holds(self, column: pa.Array) -> pa.Array:
        """Whether each value passes; never NULL."""
        ...


class KeptColumn(Protocol):
    """The values of a column in a row group."""

    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...

    @property
    def in_order(self) -> bool:
        """Whether these are integers in order: then a key is found without looking at all of them."""
        ...

    def take(self, rows: RowNumbers) -> pa.Array: ...

    def rows_with(self, keys: Numbers) -> RowNumbers | None:
        """Where the integers are one of the keys, which are in order and differ; None when they can't be told so."""
        ...

    def rows_where(self, test: Test) -> RowNumbers: ...

    def of_type(self, type_: pa.DataType) -> KeptColumn:
        """The column of a table whose type was widened since."""
        ...

    def without(self, rows: RowNumbers) -> KeptColumn | None:
        """The column without these rows, in order and not repeated, sharing its memory; None when they are many."""
        ...

    def with_values(self, rows: RowNumbers, values: pa.Array) -> KeptColumn | None:
        """The column with other values in these rows, in order and not repeated; None when they are many."""
        ...


def packed(values: pa.Array) -> KeptColumn:
    if pa.types.is_string(values.type):
        return _words(values) or PlainColumn(values)
    numbers = _numbers(values)
    if numbers is None or not len(numbers):
        return PlainColumn(values)
    valid = None
    if values.null_count:
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        numbers = np.where(valid, numbers, numbers[valid].min() if valid.any() else 0)
    base, top = int(numbers.min()), int(numbers.max())
    if top - base > _MOST_SPREAD:
        return PlainColumn(values)
    width = next(width for width in _WIDTHS if top - base <= np.iinfo(width).max)
    return NumberColumn((numbers - base).astype(width), base, top - base, values.type, valid)


class _Whole:
    """A column that has its values itself."""

    __slots__ = ()

    def without(self: KeptColumn, rows: RowNumbers) -> KeptColumn | None:
        if not len(rows):
            return self
        return PartOfColumn(self, rows) if len(rows) <= len(self) * _MOST_GONE else None

    def with_values(self: KeptColumn, rows: RowNumbers, values: pa.Array) -> KeptColumn | None:
        return _changed(self, rows, values)


@dataclass(frozen=True, slots=True)
class PlainColumn(_Whole):
    """The values as an Arrow array."""

    values: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def in_order(self) -> bool:
        return False

    def take(self, rows: RowNumbers) -> pa.Array:
        return self.values.take(pa.array(rows))

    def rows_with(self, keys: Numbers) -> RowNumbers | None:
        return None

    def rows_where(self, test: Test) -> RowNumbers:
        return _true(test.holds(self.values))

    def of_type(self, type_: pa.DataType) -> KeptColumn:
        return self if self.values.type == type_ else PlainColumn(as_type(self.values, type_))


@dataclass(frozen=True, slots=True)
class WordColumn(_Whole):
    """A few words, and the number of the word for each value. NULL is one of the words."""

    words: pa.Array
    codes: npt.NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        return int(self.words.nbytes + self.codes.nbytes)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def in_order(self) -> bool:
        return False

    def take(self, rows: RowNumbers) -> pa.Array:
        return self.words.take(pa.array(self.codes[rows]))

    def rows_with(self, keys: Numbers) -> RowNumbers | None:
        return None

    def rows_where(self, test: Test) -> RowNumbers:
        return np.flatnonzero(_flags(test.holds(self.words))[self.codes])

    def of_type(self, type_: pa.DataType) -> KeptColumn:
        return self if self.words.type == type_ else WordColumn(as_type(self.words, type_), self.codes)


class NumberColumn(_Whole):
    """Whole numbers, decimals, dates or times as what they are more than the smallest one."""

    def __init__(
        self,
        more: npt.NDArray[np.unsignedinteger],
        base: int,
        spread: int,
        type_: pa.DataType,
        valid: npt.NDArray[np.bool_] | None,
    ) -> None:
        self._more, self._base, self._spread = more, base, spread
        self._type = type_
        self._valid = valid
        comparable = pa.types.is_int64(type_) and valid is None and len(more) >= _WORTH_SORTED_ROWS
        self.in_order = comparable and bool(np.all(more[1:] >= more[:-1]))

    @property
    def nbytes(self) -> int:
        return int(self._more.nbytes + (self._valid.nbytes if self._valid is not None else 0))

    def __len__(self) -> int:
        return len(self._more)

    def take(self, rows: RowNumbers) -> pa.Array:
        return self._arrow(self._more[rows], self._valid[rows] if self._valid is not None else None)

    def rows_with(self, keys: Numbers) -> RowNumbers | None:
        if not pa.types.is_int64(self._type):
            return None
        first = np.searchsorted(keys, self._base, "left")
        last = np.searchsorted(keys, self._base + self._spread, "right")
        # Of the same type, or a search would make a wider copy of all values.
        wanted = (keys[first:last] - self._base).astype(self._more.dtype)
        if self.in_order:
            return _rows_among(self._more, wanted)
        found = self._marked(wanted)
        return found if self._valid is None else found[self._valid[found]]

    def _marked(self, wanted: npt.NDArray[np.unsignedinteger]) -> RowNumbers:
        """Looking up every value in a small table takes a fraction of the time that hashing it does."""
        shift = max(self._spread.bit_length() - _MARK_BITS, 0)
        marks = np.zeros((self._spread >> shift) + 1, dtype=np.bool_)
        marks[wanted >> self._more.dtype.type(shift)] = True
        if not shift:
            return np.flatnonzero(marks[self._more])
        likely = np.flatnonzero(marks[self._more >> self._more.dtype.type(shift)])
        exactly: RowNumbers = likely[_flags(pc.is_in(pa.array(self._more[likely]), value_set=pa.array(wanted)))]
        return exactly

    def rows_where(self, test: Test) -> RowNumbers:
        return _true(test.holds(self._arrow(self._more, self._valid)))

    def of_type(self, type_: pa.DataType) -> KeptColumn:
        return self if self._type == type_ else packed(as_type(self._arrow(self._more, self._valid), type_))

    def _arrow(self, more: npt.NDArray[np.unsignedinteger], valid: npt.NDArray[np.bool_] | None) -> pa.Array:
        numbers = pa.array(more.astype(np.int64) + self._base, mask=~valid if valid is not None else None)
        if pa.types.is_decimal(self._type):
            return _decimals(numbers, self._type)
        if pa.types.is_date32(self._type):
            return numbers.cast(pa.int32()).view(self._type)
        return numbers.view(self._type) if pa.types.is_timestamp(self._type) else numbers.cast(self._type)


@dataclass(frozen=True, slots=True)
class PartOfColumn:
    """A column of a file that was written anew without a few of its rows."""

    whole: KeptColumn
    gone: RowNumbers
    """The rows that are left out, in order; at least one."""

    @property
    def nbytes(self) -> int:
        """Without the whole's, which others have too."""
        return int(self.gone.nbytes)

    def __len__(self) -> int:
        return len(self.whole) - len(self.gone)

    @property
    def in_order(self) -> bool:
        return self.whole.in_order

    def take(self, rows: RowNumbers) -> pa.Array:
        return self.whole.take(self._there(rows))

    def rows_with(self, keys: Numbers) -> RowNumbers | None:
        found = self.whole.rows_with(keys)
        return self._here(found) if found is not None else None

    def rows_where(self, test: Test) -> RowNumbers:
        return self._here(self.whole.rows_where(test))

    def of_type(self, type_: pa.DataType) -> KeptColumn:
        found = self.whole.of_type(type_)
        return self if found is self.whole else PartOfColumn(found, self.gone)

    def without(self, rows: RowNumbers) -> KeptColumn | None:
        return self.whole.without(np.union1d(self.gone, self._there(rows)))

    def with_values(self, rows: RowNumbers, values: pa.Array) -> KeptColumn | None:
        return _changed(self, rows, values)

    def _there(self, rows: RowNumbers) -> RowNumbers:
        """Where rows of this are in the whole."""
        left_before = self.gone - np.arange(len(self.gone))
        there: RowNumbers = rows + np.searchsorted(left_before, rows, "right")
        return there

    def _here(self, rows: RowNumbers) -> RowNumbers:
        """The other way round; those that are gone are nowhere."""
        before = np.searchsorted(self.gone, rows, "left")
        gone = self.gone.take(before, mode="clip") == rows
        here: RowNumbers = (rows - before)[~gone]
        return here


@dataclass(frozen=True, slots=True)
class ChangedColumn:
    """A column of a file that was written anew with other values in a few of its rows."""

    before: KeptColumn
    rows: RowNumbers
    """The numbers of the rows whose values changed, in order; at least one."""
    values: pa.Array

    @property
    def nbytes(self) -> int:
        """Without those of the column before, which others have too."""
        return int(self.rows.nbytes + self.values.nbytes)

    def __len__(self) -> int:
        return len(self.before)

    @property
    def in_order(self) -> bool:
        return False

    def take(self, rows: RowNumbers) -> pa.Array:
        found = self.before.take(rows)
        index = np.searchsorted(self.rows, rows)
        changed = self.rows.take(index, mode="clip") == rows
        if not changed.any():
            return found
        chosen = np.where(changed, len(rows) + index, np.arange(len(rows)))
        return pa.concat_arrays([found, self.values]).take(pa.array(chosen))

    def rows_with(self, keys: Numbers) -> RowNumbers | None:
        found = self.before.rows_with(keys)
        if found is None:
            return None
        return self._with(found, pc.is_in(self.values, value_set=pa.array(keys, self.values.type)))

    def rows_where(self, test: Test) -> RowNumbers:
        return self._with(self.before.rows_where(test), test.holds(self.values))

    def _with(self, found: RowNumbers, passing: pa.Array) -> RowNumbers:
        """What was found in the column before, as far as that is so still, and what is found in the new values."""
        rows: RowNumbers = np.union1d(np.setdiff1d(found, self.rows, assume_unique=True), self.rows[_flags(passing)])
        return rows

    def of_type(self, type_: pa.DataType) -> KeptColumn:
        found = self.before.of_type(type_)
        return self if found is self.before else ChangedColumn(found, self.rows, as_type(self.values, type_))

    def without(self, rows: RowNumbers) -> KeptColumn | None:
        before = self.before.without(rows)
        stays = np.isin(self.rows, rows, invert=True)
        left = self.rows[stays] - np.searchsorted(rows, self.rows[stays])
        if before is None or not len(left):
            return before
        return ChangedColumn(before, left, self.values.filter(pa.array(stays)))

    def with_values(self, rows: RowNumbers, values: pa.Array) -> KeptColumn | None:
        stays = np.isin(self.rows, rows, invert=True)
        order = np.argsort(all_rows := np.concatenate((self.rows[stays], rows)))
        all_values = pa.concat_arrays([self.values.filter(pa.array(stays)), values])
        return _changed(self.before, all_rows[order], all_values.take(pa.array(order)))


def _changed(column: KeptColumn, rows: RowNumbers, values: pa.Array) -> KeptColumn | None:
    if not len(rows):
        return column
    few = len(rows) <= len(column) * _MOST_CHANGED
    return ChangedColumn(column, rows, values) if few and column.take(rows[:0]).type == values.type else None


def _numbers(values: pa.Array) -> Numbers | None:
    """The values as whole numbers, whatever stands where they are NULL."""
    type_ = values.type
    if pa.types.is_decimal128(type_) and type_.precision <= _MOST_DIGITS:
        halves = np.frombuffer(values.buffers()[1], dtype=np.int64)
        return halves[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    if pa.types.is_date32(type_):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(type_):
        values = values.view(pa.int64())
    elif not pa.types.is_signed_integer(type_):
        return None
    found: Numbers = values.cast(pa.int64()).fill_null(0).to_numpy()
    return found


def _decimals(numbers: pa.Array, type_: pa.DataType) -> pa.Array:
    """Whole numbers as the digits of decimals: 128 bits, of which the upper half is only the sign."""
    lower = numbers.fill_null(0).to_numpy()
    halves = np.column_stack((lower, lower >> 63))
    return pa.Array.from_buffers(type_, len(numbers), [numbers.buffers()[0], pa.py_buffer(halves)])


def _words(values: pa.Array) -> WordColumn | None:
    """The values as a dictionary of words; None if there are too many, which a few rows show most of the time."""
    if len(pc.unique(values.slice(0, _SAMPLE_ROWS))) > _SAMPLE_WORDS:
        return None
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    if len(encoded.dictionary) > _MOST_WORDS:
        return None
    return WordColumn(encoded.dictionary, encoded.indices.to_numpy().astype(np.uint8))


def _true(passing: pa.Array) -> RowNumbers:
    return np.flatnonzero(_flags(passing))


def _flags(passing: pa.Array) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = passing.to_numpy(zero_copy_only=False)
    return flags


def _rows_among(ascending: npt.NDArray[np.unsignedinteger], keys: npt.NDArray[np.unsignedinteger]) -> RowNumbers:
    """Where values in order are one of the keys, which are in order too and differ."""
    first, last = np.searchsorted(ascending, keys, "left"), np.searchsorted(ascending, keys, "right")
    counts = last - first
    starts = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if len(keys) else first
    return np.arange(int(counts.sum()), dtype=np.int64) + starts
