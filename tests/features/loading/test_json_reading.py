"""JSON documents: one after the other, over several lines, in an outer array, damaged."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.features.loading import json_records
from snowmelt.features.loading.file_formats import JsonFormat
from snowmelt.features.loading.json_records import JsonStream
from snowmelt.features.loading.records import RecordProblem

JSON = JsonFormat("JSON")
ARRAY = replace(JSON, strip_outer_array=True)


def read(data: bytes, format: JsonFormat = JSON) -> tuple[list[str], list[RecordProblem]]:
    documents: list[str] = []
    problems: list[RecordProblem] = []
    for segment in JsonStream(io.BytesIO(data).read, format).segments():
        documents += segment.data.column(0).to_pylist()
        problems += segment.problems
    return documents, problems


def parsed(data: bytes, format: JsonFormat = JSON) -> list[Any]:
    documents, problems = read(data, format)
    assert not problems
    return [json.loads(document) for document in documents]


@pytest.mark.parametrize(
    ("data", "format", "expected"),
    [
        (b'{"a":1}\n{"a":2}\n', JSON, [{"a": 1}, {"a": 2}]),
        (b'{"a":\n1} {"b":2}{"c":3},\n{"d":4}', JSON, [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}]),
        (b'1 2\n"x" true null', JSON, [1, 2, "x", True, None]),
        (b'[{"a":1},{"a":2}]', JSON, [[{"a": 1}, {"a": 2}]]),
        (b'[{"a":1},\n {"a":2}\n]\n', ARRAY, [{"a": 1}, {"a": 2}]),
        (b"[]", ARRAY, []),
        (b"[1][2,3] 4", ARRAY, [1, 2, 3, 4]),
        (b'{"a":1}', ARRAY, [{"a": 1}]),
        (b"[1,2,]", ARRAY, [1, 2]),
        (b'\xef\xbb\xbf{"a":1}', JSON, [{"a": 1}]),
        (b"", JSON, []),
        (b" \n ", JSON, []),
        (b'{"a":null,"b":[1,null],"c":{"d":null}}', replace(JSON, strip_nulls=True), [{"b": [1], "c": {}}]),
        (b'{"a":1,"a":2}', replace(JSON, allow_duplicate=True), [{"a": 2}]),
    ],
)
def test_reads(data: bytes, format: JsonFormat, expected: list[Any]) -> None:
    assert parsed(data, format) == expected


def test_numbers_keep_their_digits_when_nulls_are_stripped() -> None:
    documents, _ = read(b'{"a":0.10000000000000000001,"b":null}', replace(JSON, strip_nulls=True))
    assert documents == ['{"a":0.10000000000000000001}']


@pytest.mark.parametrize(
    ("data", "format", "before", "message", "line"),
    [
        (b'{"a":1}\n{"a":}\n{"a":3}\n', JSON, 1, "Error parsing JSON: Expecting value, line 2, pos 6", 2),
        (b'{"a":1', JSON, 0, "Error parsing JSON: Expecting", 1),
        (b'{"a":"x', JSON, 0, "Error parsing JSON: Unterminated string", 1),
        (b'[{"a":1},{"a":2}', ARRAY, 2, "Error parsing JSON: incomplete array value", 1),
        (b"[1 2]", ARRAY, 1, "Error parsing JSON: missing comma", 1),
        (b"[NaN]", JSON, 0, 'Error parsing JSON: unknown keyword "NaN"', 1),
        (b'{"a":"\xff"}', JSON, 0, "Invalid UTF8 detected in string '0xFF", 1),
        (b"[" * 100_000, JSON, 0, "Error parsing JSON: nested too deeply", 1),
    ],
)
def test_damage_ends_the_file(data: bytes, format: JsonFormat, before: int, message: str, line: int) -> None:
    documents, problems = read(data, format)
    assert len(documents) == before
    assert problems[0].message.startswith(message)
    assert problems[0].position.line == line
    assert problems[0].row == before + 1


def test_invalid_bytes_are_replaced_on_request() -> None:
    assert parsed(b'{"a":"\xff"}', replace(JSON, replace_invalid=True)) == [{"a": "\ufffd"}]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(VALUES, max_size=8), st.sampled_from([None, 1]), st.sampled_from(["\n", " ", "\n\n", ","]), st.booleans(),
    st.integers(1, 50),
)  # fmt: skip
def test_any_documents_in_any_layout(
    documents: list[Any], indent: int | None, separator: str, in_array: bool, chunk: int
) -> None:
    texts = [json.dumps(document, indent=indent) for document in documents]
    text = f"[{','.join(texts)}]" if in_array else separator.join(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "_CHUNK", chunk)
        assert parsed(text.encode(), ARRAY if in_array else JSON) == documents
