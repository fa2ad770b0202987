"""Objects that are encoded column by column have the bytes that each has when it is encoded alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snowmelt.storage import variant
from snowmelt.storage.variant_rows import ColumnValues, encode_objects

_ROWS = 4


def _column(values: st.SearchStrategy[Any], type_: pa.DataType | None) -> st.SearchStrategy[ColumnValues]:
    listed = st.lists(st.none() | values, min_size=_ROWS, max_size=_ROWS)
    return listed if type_ is None else listed.map(lambda plain: pa.array(plain, type_))


def _decimals(digits: int, scale: int) -> st.SearchStrategy[ColumnValues]:
    most = Decimal(10**digits - 1).scaleb(-scale)
    return _column(st.decimals(-most, most, places=scale), pa.decimal128(digits, scale))


_EDGES = st.sampled_from([(1 << bits) + more for bits in (7, 8, 15, 16, 31, 32) for more in (-1, 0)])
_COLUMNS = st.one_of(
    _column(st.integers(-(2**63), 2**63 - 1) | _EDGES, pa.int64()),
    _column(st.integers(-(2**31), 2**31 - 1), pa.int32()),
    _column(st.booleans(), pa.bool_()),
    _column(st.text(max_size=100) | st.sampled_from(["x" * 63, "x" * 64, "é" * 300]), pa.string()),
    _decimals(18, 2),
    _decimals(9, 9),
    _decimals(12, 10),
    _column(st.floats(allow_nan=False) | st.lists(st.integers(), max_size=3) | st.integers(), None),
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=5), _COLUMNS, min_size=1, max_size=6))
@example({"a": pa.array(["x" * 70_000, "", None, "x" * 17_000_000])})
@example({f"n{number}": pa.array([1, 2, None, 4]) for number in range(256)})
def test_the_bytes_of_each(columns: dict[str, ColumnValues]) -> None:
    names = list(columns)
    found = encode_objects(names, list(columns.values()), nested=False).to_pylist()
    for place, encoded in enumerate(found):
        row = {name: _plain(column)[place] for name, column in columns.items()}
        assert (encoded["metadata"], encoded["value"]) == variant.encode(row)


def _plain(column: ColumnValues) -> Any:
    return column.to_pylist() if isinstance(column, pa.Array) else column


@pytest.mark.parametrize("rows", [0, 1, 16_384, 16_385])
def test_any_number_of_rows(rows: int) -> None:
    column = pa.array(range(rows), pa.int64())
    found = encode_objects(["n", "text"], [column, pa.array(["a"] * rows, pa.string())], nested=False)
    assert len(found) == rows
    for place in {0, rows - 1} & set(range(rows)):
        assert (found[place]["metadata"].as_py(), found[place]["value"].as_py()) == variant.encode(
            {"n": place, "text": "a"}
        )


def test_slices() -> None:
    """Arrays that begin somewhere in their buffers."""
    number = pa.array([Decimal("1.5"), Decimal("2.5"), None, Decimal("3.5")], pa.decimal128(5, 1)).slice(1)
    text = pa.array(["a", "bc", None, "d"]).slice(1)
    found = encode_objects(["n", "t"], [number, text], nested=False).to_pylist()
    wanted = [{"n": Decimal("2.5"), "t": "bc"}, {"n": None, "t": None}, {"n": Decimal("3.5"), "t": "d"}]
    assert [(row["metadata"], row["value"]) for row in found] == [variant.encode(row) for row in wanted]


def test_objects_inside() -> None:
    found = encode_objects(["a"], [[{"b": [1]}, None]], nested=True).to_pylist()
    assert [variant.decode(row["metadata"], row["value"]) for row in found] == [{"a": {"b": [1]}}, {"a": None}]
