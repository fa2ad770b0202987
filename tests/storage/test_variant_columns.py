"""Objects of Arrow as VARIANT values: byte by byte what the encoder of single values makes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.storage.variant import decode, encode, parse_json
from snowmelt.storage.variant_columns import encode_objects

NAMES = st.lists(st.text(min_size=1, max_size=3), min_size=0, max_size=4, unique=True)
TEXT = st.one_of(st.text(max_size=70), st.integers(60, 300).map("x".__mul__), st.just("y" * 70_000))
KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): TEXT, pa.int64(): st.integers(-(2**63), 2**63 - 1), pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(allow_nan=False), pa.bool_(): st.booleans(), pa.null(): st.none(),
}  # fmt: skip


@st.composite
def structs(draw: st.DrawFn) -> pa.StructArray:
    kinds = {name: draw(st.sampled_from(list(KINDS))) for name in draw(NAMES)}
    row = st.fixed_dictionaries({name: st.none() | KINDS[kind] for name, kind in kinds.items()})
    rows = draw(st.lists(st.none() | row, max_size=4))
    return pa.array(rows, pa.struct(list(kinds.items())))


@settings(max_examples=100, deadline=None)
@given(structs())
def test_columns_are_encoded_as_values_are(rows: pa.StructArray) -> None:
    made = encode_objects(rows)
    assert made is not None
    for row, found in zip(rows.to_pylist(), made.to_pylist(), strict=True):
        assert (found and (found["metadata"], found["value"])) == (None if row is None else encode(row))


def test_documents_are_part_of_their_object() -> None:
    texts = ['{"k": [1.50, {"id": null}]}', "[]", '"s"', "1e5", None, "true"]
    rows = pa.table({"id": range(6), "doc": texts}).to_struct_array().combine_chunks()
    made = encode_objects(rows, is_json=[1])
    assert made is not None
    found = [decode(item["metadata"], item["value"]) for item in made.to_pylist()]
    assert found == [{"id": n, "doc": None if text is None else parse_json(text)} for n, text in enumerate(texts)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.from_regex(r"\A-?(0|[1-9][0-9]{0,9})\.[0-9]{1,10}\Z"), min_size=1, max_size=5))
def test_fractions_are_encoded_as_values_are(texts: list[str | None]) -> None:
    made = encode_objects(pa.table({"a": pa.array(texts, pa.string())}).to_struct_array().combine_chunks(), is_json=[0])
    expected = [encode({"a": None if text is None else parse_json(text)}) for text in texts]
    assert made is not None and [(row["metadata"], row["value"]) for row in made.to_pylist()] == expected


@pytest.mark.parametrize(
    ("kind", "value", "is_json"),
    [(pa.string(), "no JSON", [0]), (pa.list_(pa.int64()), [1], []), (pa.uint64(), 2**64 - 1, []),
     (pa.string(), json.dumps({str(n): n for n in range(300)}), [0])],
)  # fmt: skip
def test_what_only_values_can_be_is_left_to_them(kind: pa.DataType, value: Any, is_json: list[int]) -> None:
    assert encode_objects(pa.array([{"a": value}], pa.struct([("a", kind)])), is_json=is_json) is None
