"""Filters of keys: never a key that is there and said not to be, seldom one that is not and said to be."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.storage.key_filters import KeyFilters, hashes_of, made, may_have

_VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.decimal128(38, 0): st.integers(-(10**30), 10**30).map(Decimal),
    pa.string(): st.text(max_size=40),
    pa.date32(): st.dates(),
}


@pytest.mark.parametrize("type_", _VALUES, ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_what_is_there_is_found(type_: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(_VALUES[type_], min_size=1, max_size=30))
    hashes = hashes_of([pa.array(values, type_)])
    assert hashes is not None
    filter_ = made(hashes)
    for place, value in enumerate(values):
        alone = hashes_of([pa.array([None, value], type_).slice(1)])
        assert alone is not None and alone[0] == hashes[place] and may_have(filter_, alone)


def test_what_is_not_there_is_seldom_found() -> None:
    present = hashes_of([pa.array(range(100_000))])
    absent = hashes_of([pa.array(range(100_000, 200_000))])
    assert present is not None and absent is not None
    filter_ = made(present)
    wrong = sum(may_have(filter_, absent[place : place + 1]) for place in range(5_000))
    assert wrong < 15
    assert len(filter_) < 300_000


def test_the_columns_of_a_key_count_together() -> None:
    one, two = pa.array([1, 2]), pa.array(["a", "b"])
    both = hashes_of([one, two])
    crossed = hashes_of([one, pa.array(["b", "a"])])
    assert both is not None and crossed is not None
    assert not set(both.tolist()) & set(crossed.tolist())
    assert hashes_of([pa.array([1.5])]) is None, "floats are not looked up"


def test_filters_outlive_the_process_and_make_room(tmp_path: Path) -> None:
    hashes = np.arange(1_000, dtype=np.uint64)
    filters = KeyFilters(tmp_path / "keys", most_bytes=4_000)
    assert filters.find("a.parquet", ["ID"]) is None
    filters.learn("a.parquet", ["ID"], hashes)
    again = KeyFilters(tmp_path / "keys").find("a.parquet", ["ID"])
    assert again is not None and may_have(again, hashes[:1])
    assert KeyFilters(tmp_path / "keys").find("a.parquet", ["OTHER"]) is None
    filters.learn("b.parquet", ["ID"], hashes)
    assert len(list((tmp_path / "keys").iterdir())) == 1
