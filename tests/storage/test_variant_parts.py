"""Parts of VARIANT values, found in their bytes, are those that decoding the whole value gives."""

from __future__ import annotations

from typing import Any

import pytest

from snowmelt.storage.variant import decode, encode, encode_json
from snowmelt.storage.variant_parts import elements_of, fields_of, find_at
from tests.engine.quick.values import DOCUMENTS


def children(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_part_is_found(document: str) -> None:
    metadata, value = encode_json(document)
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), decode(metadata, value))]
    while pending:
        path, wanted = pending.pop()
        found = find_at(metadata, value, path)
        assert found is not None
        assert decode(metadata, found) == wanted
        pending += [((*path, step), child) for step, child in children(wanted)]


@pytest.mark.parametrize("path", [("z",), (0,), ("a", 0), ("b", "c", 3), ("b", "c", "d"), (-1,)])
def test_what_is_not_there_is_none(path: tuple[str | int, ...]) -> None:
    metadata, value = encode_json('{"a": 1, "b": {"c": [1, 2, 3]}}')
    assert find_at(metadata, value, path) is None


def test_elements_and_fields() -> None:
    metadata, value = encode([1, "a", {"x": None, "b": [True]}])
    items = elements_of(value)
    assert items is not None
    assert [decode(metadata, item) for item in items] == [1, "a", {"b": [True], "x": None}]
    assert elements_of(items[0]) is None
    fields = fields_of(metadata, items[2])
    assert fields is not None
    assert [(key, decode(metadata, item)) for key, item in fields] == [("b", [True]), ("x", None)]
    assert fields_of(metadata, items[1]) is None


def test_many_fields_and_long_texts() -> None:
    many = {f"k{number}": "x" * number for number in range(400)}
    metadata, value = encode(many)
    for key, text in many.items():
        found = find_at(metadata, value, (key,))
        assert found is not None
        assert decode(metadata, found) == text


def test_objects_of_other_shapes_under_the_same_names() -> None:
    """What is kept of a shape is for that shape alone, and for those names."""
    shapes: list[dict[str, Any]] = [{"a": 1, "b": 2}, {"b": 3}, {"a": 4, "c": 5}, {"c": 6, "a": {"b": 7}}, {}]
    for order in (shapes, shapes[::-1], [{"a": 8, "d": 9}, *shapes]):
        metadata, value = encode(order)
        for index, wanted in enumerate(order):
            for key in "abcd":
                found = find_at(metadata, value, (index, key))
                assert (None if found is None else decode(metadata, found)) == wanted.get(key)
