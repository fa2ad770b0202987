"""Packed columns give back what was put in, and find what a look at every value finds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snowmelt.storage import packing
from snowmelt.storage.columns import WHOLE, ColumnCache
from snowmelt.storage.packing import NumberColumn, PlainColumn, WordColumn, packed

_LARGE = st.integers(-(2**63), 2**63 - 1)
_NEAR = st.one_of(st.integers(-3, 300), st.integers(10**9, 10**9 + 70_000), st.integers(0, 2**33))
TYPES: dict[Any, st.SearchStrategy[Any]] = {
    pa.int64(): st.one_of(_NEAR, _LARGE),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.decimal128(18, 2): st.integers(-(10**18) + 1, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    pa.decimal128(9, 0): st.integers(-(10**9) + 1, 10**9 - 1).map(Decimal),
    pa.decimal128(38, 10): st.integers(-(10**30), 10**30).map(lambda n: Decimal(n).scaleb(-10)),
    pa.date32(): st.dates(date(1, 1, 1), date(9999, 12, 31)),
    pa.timestamp("us"): st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
    pa.string(): st.one_of(st.sampled_from(["a", "b", ""]), st.text()),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=3),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    type_ = draw(st.sampled_from(list(TYPES)))
    values = TYPES[type_]
    given = draw(st.lists(st.one_of(st.none(), values) if draw(st.booleans()) else values, max_size=40))
    # A slice: the buffers of Arrow begin before its values.
    start = draw(st.integers(0, 3))
    return pa.array(given, type_).slice(start)


@dataclass(frozen=True)
class Above:
    least: pa.Scalar

    def holds(self, column: pa.Array) -> pa.Array:
        return pc.greater_equal(column, self.least).fill_null(False)


@given(columns(), st.data())
def test_what_is_taken_is_what_was_put_in(values: pa.Array, data: st.DataObject) -> None:
    column = packed(values)
    assert len(column) == len(values)
    rows = data.draw(st.lists(st.integers(0, max(len(values) - 1, 0)), max_size=10)) if len(values) else []
    chosen = np.array(rows, dtype=np.int64)
    taken = column.take(chosen)
    assert taken.equals(values.take(pa.array(chosen)))
    taken.validate(full=True)


@given(columns(), st.data())
def test_a_column_that_changes(values: pa.Array, data: st.DataObject) -> None:
    """Without some rows, with other values in some, again and again: found as in a column of its own."""
    possible = [*values.to_pylist(), *data.draw(st.lists(TYPES[values.type], max_size=3))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_MOST_GONE", 1.0)
        patch.setattr(packing, "_MOST_CHANGED", 1.0)
        column = packed(values)
        for _ in range(data.draw(st.integers(1, 4))):
            rows = np.array(
                sorted(data.draw(st.sets(st.integers(0, len(values) - 1)))) if len(values) else [], np.int64
            )
            if data.draw(st.booleans()):
                after = column.without(rows)
                values = values.take(pa.array(np.setdiff1d(np.arange(len(values)), rows)))
            else:
                new = [data.draw(st.sampled_from(possible)) for _ in rows]
                after = column.with_values(rows, pa.array(new, values.type))
                listed = values.to_pylist()
                for row, value in zip(rows, new, strict=True):
                    listed[row] = value
                values = pa.array(listed, values.type)
            assert after is not None
            column = after
    assert len(column) == len(values)
    assert column.take(np.arange(len(values))).equals(values)
    if pa.types.is_int64(values.type) and column.rows_with(np.array([0])) is not None:
        keys = data.draw(st.sets(st.sampled_from([*values.drop_null().to_pylist(), 0, 7])))
        rows = column.rows_with(np.array(sorted(keys), np.int64))
        assert rows is not None
        assert rows.tolist() == [place for place, value in enumerate(values.to_pylist()) if value in keys]
    if values.null_count < len(values):
        least = values.drop_null()[0]
        expected = np.flatnonzero(Above(least).holds(values).to_numpy(zero_copy_only=False))
        if not pa.types.is_boolean(values.type):
            assert column.rows_where(Above(least)).tolist() == expected.tolist()


@given(columns(), st.data())
def test_conditions_hold_where_they_hold_of_the_values(values: pa.Array, data: st.DataObject) -> None:
    known = [value for value in values.to_pylist() if value is not None]
    if not known:
        return
    test = Above(pa.scalar(data.draw(st.sampled_from(known)), values.type))
    expected = np.flatnonzero(test.holds(values).to_numpy(zero_copy_only=False))
    assert packed(values).rows_where(test).tolist() == expected.tolist()


@given(st.lists(st.one_of(st.none(), _NEAR), max_size=60), st.sets(st.one_of(_NEAR, _LARGE), max_size=9), st.booleans())
def test_keys_are_where_they_are(given: list[int | None], wanted: set[int], repeated: bool) -> None:
    numbers = sorted(n for n in given if n is not None) * 40 if repeated else given
    values = pa.array(sorted(numbers) if repeated else numbers, pa.int64())
    keys = np.array(sorted(wanted | {n for n in given[:2] if n is not None}), dtype=np.int64)
    found = packed(values).rows_with(keys)
    if found is None:
        assert not len(values)
        return
    among = set(keys.tolist())
    assert sorted(found.tolist()) == [place for place, value in enumerate(values.to_pylist()) if value in among]


def test_integers_in_order_are_known_to_be() -> None:
    assert packed(pa.array(range(5_000))).in_order
    assert not packed(pa.array([1, 0] * 2_000)).in_order
    assert not packed(pa.array([*range(5_000), None])).in_order


@pytest.mark.parametrize(
    ("values", "kind", "most_bytes"),
    [
        (pa.array([10**12 + n % 200 for n in range(10_000)]), NumberColumn, 10_000),
        (pa.array([Decimal(n % 60_000) / 100 for n in range(10_000)], pa.decimal128(15, 2)), NumberColumn, 20_000),
        (pa.array([date(2020, 1, 1) + timedelta(n % 99) for n in range(10_000)]), NumberColumn, 10_000),
        (pa.array(["AIR", "SHIP", None, "MAIL"] * 2_500), WordColumn, 10_100),
        (pa.array([str(n) for n in range(10_000)]), PlainColumn, 100_000),
    ],
)
def test_few_bytes_for_values_that_are_close(values: pa.Array, kind: type, most_bytes: int) -> None:
    column = packed(values)
    assert isinstance(column, kind)
    assert column.nbytes <= most_bytes


def test_a_widened_column() -> None:
    column = packed(pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)))
    wider = column.of_type(pa.decimal128(18, 2))
    assert wider.take(np.array([0, 1])).equals(pa.array([Decimal("1.50"), None], pa.decimal128(18, 2)))


def test_files_that_were_replaced_unread_are_forgotten() -> None:
    cache = ColumnCache()
    for path in ("/t/first", "/t/second", "/t/third"):
        cache.keep_rows(path, pa.table({"A": [1, 2]}), ["A"])
    assert cache.find([("/t/first", WHOLE, "A")])
    cache.replaced(["/t/first", "/t/second"])
    left = [name for name in ("first", "second", "third") if cache.find([(f"/t/{name}", WHOLE, "A")])]
    assert left == ["first", "third"]


def test_files_share_what_did_not_change() -> None:
    rows = pa.table({"A": list(range(1000)), "B": list(range(1000))})
    cache = ColumnCache(most_bytes=6500)
    cache.keep_rows("/t/first", rows, ["A", "B"])
    cache.inherit("/t/second", "/t/first", ["A"], np.array([], np.int64), {})
    cache.keep_rows("/t/second", rows, ["A", "B"])
    first, second = (cache.find((path, WHOLE, name) for name in "AB") for path in ("/t/first", "/t/second"))
    assert first["A"] is second["A"]
    assert first["B"] is not second["B"]
    cache.keep_rows("/t/third", rows, ["B"])
    assert not cache.find([("/t/first", WHOLE, "B")]), "there is room for three columns only"
    assert cache.find([("/t/second", WHOLE, "A")])


@given(st.lists(st.integers(-3, 300), min_size=1, max_size=30), st.data())
def test_a_file_has_the_columns_of_any_file_before_it(first: list[int], data: st.DataObject) -> None:
    """A column of one of several files, each written from the one before it, is right for all that follow."""
    cache, files = ColumnCache(), [first]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_MOST_GONE", 1.0)
        patch.setattr(packing, "_MOST_CHANGED", 1.0)
        for number in range(data.draw(st.integers(1, 4))):
            places = st.sets(st.integers(0, len(files[-1]) - 1)) if files[-1] else st.just(set())
            changed, gone = (np.array(sorted(data.draw(places)), np.int64) for _ in range(2))
            new = {int(row): data.draw(st.integers(-3, 300)) for row in changed}
            values = pa.array(new.values(), pa.int64())
            cache.inherit(f"/t/{number + 1}", f"/t/{number}", ["A"], gone, {"A": (changed, values)} if new else {})
            files.append([new.get(row, old) for row, old in enumerate(files[-1]) if row not in gone])
        known = data.draw(st.integers(0, len(files) - 1))
        cache.keep_rows(f"/t/{known}", pa.table({"A": pa.array(files[known], pa.int64())}), ["A"])
        for asked in data.draw(st.permutations(range(len(files)))):
            found = cache.find([(f"/t/{asked}", WHOLE, "A")])
            assert bool(found) == (asked >= known)
            if found:
                assert found["A"].take(np.arange(len(files[asked]))).to_pylist() == files[asked]
    assert not cache.find([("/t/1", WHOLE, "B")])


def test_files_that_were_replaced_go_first_and_the_earliest_of_them() -> None:
    rows = pa.table({"A": list(range(1000))})
    cache = ColumnCache(most_bytes=6500)
    cache.replaced(["/t/before"])
    for path in ("/t/current", "/t/later", "/t/before"):
        cache.keep_rows(path, rows, ["A"])
        assert cache.find([(path, WHOLE, "A")])
    cache.replaced(["/t/later"])
    left = []
    for path in ("/t/one_more", "/t/another"):
        cache.keep_rows(path, rows, ["A"])
        left.append([name for name in ("before", "later", "current") if (f"/t/{name}", WHOLE, "A") in cache._kept])
    assert left == [["later", "current"], ["current"]]
