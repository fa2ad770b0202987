from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.storage.variant import decode, encode, encode_json, parse_json, to_json

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=7, min_value=-(10**20), max_value=10**20),
    text,
    st.binary(max_size=80),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.uuids(),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(text, inner, max_size=6),
    max_leaves=40,
)
# Fifteen decimals can't state the very largest doubles without rounding up to infinity.
finite = st.floats(-1e307, 1e307)
json_scalars = st.none() | st.booleans() | st.integers() | finite | text
documents = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(text, inner, max_size=6),
    max_leaves=40,
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Decimal | int) and isinstance(right, Decimal | int):
        return left == right and isinstance(left, bool) == isinstance(right, bool)
    return type(left) is type(right) and left == right


@given(values)
def test_a_value_comes_back(value: Any) -> None:
    assert same(decode(*encode(value)), value)


@given(documents)
def test_compact_text_is_json_of_the_same_value(document: Any) -> None:
    read = json.loads(to_json(decode(*encode_json(json.dumps(document)))))
    expected = json.loads(json.dumps(document))
    assert close(read, expected)


@given(documents)
def test_pretty_text_says_the_same_as_compact(document: Any) -> None:
    assert json.loads(to_json(document, pretty=True)) == json.loads(to_json(document))


def close(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, int | float) and not isinstance(left, bool):
        return math.isclose(left, right, rel_tol=1e-15)
    return bool(left == right)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 300, 70_000])
def test_sizes_around_the_width_limits(size: int) -> None:
    assert decode(*encode(list(range(size)))) == list(range(size))
    assert decode(*encode("x" * size)) == "x" * size
    wide = {f"key{n}": n for n in range(min(size, 1000))}
    assert decode(*encode(wide)) == wide


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1", 1),
        ("-129", -129),
        ("9223372036854775808", Decimal(9223372036854775808)),
        ("1.50", Decimal("1.50")),
        ("1e2", 100.0),
        ("0.00000000000000000000000000000000000001", Decimal("1e-38")),
        ("0.000000000000000000000000000000000000001", 1e-39),
        ("123456789012345678901234567890123456789012", 123456789012345678901234567890123456789012.0),
    ],
)
def test_numbers_keep_what_they_can(written: str, expected: Any) -> None:
    found = decode(*encode_json(written))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"b": [1, None], "a": True}, '{"a":true,"b":[1,null]}'),
        (1.912e2, "1.912000000000000e+02"),
        (Decimal("123.120"), "123.12"),
        (Decimal("100"), "100"),
        ('é\n/"', '"é\\n/\\""'),
        (b"\xab", '"AB"'),
        (date(2024, 2, 29), '"2024-02-29"'),
        (time(1, 2, 3), '"01:02:03"'),
        (datetime(2024, 2, 29, 1, 2, 3, 456789), '"2024-02-29 01:02:03.456"'),
        (datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), '"2024-02-29 01:02:03.000 Z"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (math.inf, '"inf"'),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_text_as_snowflake_prints_it(value: Any, shown: str) -> None:
    assert to_json(value) == shown


def test_pretty_text() -> None:
    assert to_json({"a": [1, {}], "b": []}, pretty=True) == '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}'


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a":1,"a":2}', "[1,]", "[" * 100_000])
def test_bad_json_is_an_error_with_snowflakes_code(text: str) -> None:
    with pytest.raises(SnowmeltError) as caught:
        parse_json(text)
    assert caught.value.code == "100069"


@given(st.binary(max_size=20), st.binary(max_size=40))
def test_garbage_never_escapes_as_another_exception(metadata: bytes, value: bytes) -> None:
    with suppress(SnowmeltError):
        decode(metadata, value)
