"""CSV records: the exact reader, the fast one, and that they agree."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.features.loading import csv_records
from snowmelt.features.loading.csv_records import CsvLayout, CsvStream
from snowmelt.features.loading.file_formats import CsvFormat
from snowmelt.features.loading.records import Position, RecordProblem, TargetNames
from snowmelt.features.loading.window import ByteWindow

CSV = CsvFormat("CSV", null_if=("\\N",))
QUOTED = replace(CSV, enclosure=b'"')
Read = tuple[list[tuple[int, list[str | None]]], list[RecordProblem], int, list[Position]]


def read(data: bytes, csv: CsvFormat = CSV, fields: int = 2, *, checked: bool = False, fast: bool = True) -> Read:
    """Rows with their numbers, problems, how many records there were, and where every field stands."""
    names = TargetNames("T", tuple("ABCDEFGH"[:fields]))
    stream = CsvStream(ByteWindow(io.BytesIO(data).read), CsvLayout(csv, fields, checked, names))
    if not fast:
        stream._block = lambda blocks: None  # type: ignore[method-assign]
    rows: list[tuple[int, list[str | None]]] = []
    problems: list[RecordProblem] = []
    places: list[Position] = []
    parsed = 0
    for segment in stream.segments():
        rows += [(n, list(row.values())) for n, row in zip(segment.rows, segment.data.to_pylist(), strict=True)]
        problems += segment.problems
        parsed += segment.parsed
        assert segment.text is not None
        places += segment.text.positions([(n, f) for n in range(segment.data.num_rows) for f in range(fields)])
    return rows, problems, parsed, places


def values(data: bytes, csv: CsvFormat = CSV, fields: int = 2) -> list[list[str | None]]:
    return [row for _, row in read(data, csv, fields)[0]]


@pytest.mark.parametrize(
    ("data", "csv", "expected"),
    [
        (b"1,x\n2,y\n", CSV, [["1", "x"], ["2", "y"]]),
        (b"1,x\r\n2,y", CSV, [["1", "x"], ["2", "y"]]),
        (b"1,\\N\n,\n", CSV, [["1", None], [None, None]]),
        (b"1,\n", replace(CSV, empty_as_null=False), [["1", ""]]),
        (b"1,x\n", replace(CSV, null_if=("x", "")), [["1", None]]),
        (b'"a,b","c\nd"\n', QUOTED, [["a,b", "c\nd"]]),
        (b'"a""b",""\n', QUOTED, [['a"b', ""]]),
        (b'"a","b"\n', CSV, [['"a"', '"b"']]),
        (b'a"b,c"\n', QUOTED, [['a"b', 'c"']]),
        (b"a\\,b,c\\\\\n", CSV, [["a,b", "c\\"]]),
        (b"a\\\nb,c\n", CSV, [["a\nb", "c"]]),
        (b"a\\tb,c\n", CSV, [["a\\tb", "c"]]),
        (b"a\\,b,c\n", replace(CSV, escape_unenclosed=None), [["a\\", "b"]]),
        (b'"a\\"b",c\n', replace(QUOTED, escape=b"\\"), [['a"b', "c"]]),
        (b"a||b@@c||d@@", replace(CSV, field_delimiter=b"||", record_delimiter=b"@@"), [["a", "b"], ["c", "d"]]),
        (b"a,b\nc,d\n", replace(CSV, field_delimiter=None), [["a,b", None], ["c,d", None]]),
        (b' "x y" , " z " \n', replace(QUOTED, trim_space=True), [["x y", " z "]]),
        (b"  x ,  \n", replace(CSV, trim_space=True), [["x", None]]),
        (b"h1,h2\n1,2\n", replace(CSV, skip_header=1), [["1", "2"]]),
        (b'h1,"h\n2"\n1,2\n', replace(QUOTED, skip_header=1), [['2"', None], ["1", "2"]]),
        (b"1,2,3\n4\n", CSV, [["1", "2"], ["4", None]]),
        (b"\n1,2\n", replace(CSV, skip_blank_lines=True), [["1", "2"]]),
        (b"", CSV, []),
        ("ä,ß\n".encode(), CSV, [["ä", "ß"]]),
    ],
)
def test_reads(data: bytes, csv: CsvFormat, expected: list[list[str | None]]) -> None:
    assert values(data, csv) == expected


def first_problem(data: bytes, csv: CsvFormat = CSV, fields: int = 2) -> tuple[str, str, int, int | None, str | None]:
    problem = min(read(data, csv, fields, checked=True)[1], key=lambda item: item.row)
    return problem.code, problem.message, problem.position.line, problem.position.character, problem.column


@pytest.mark.parametrize(
    ("data", "csv", "expected"),
    [
        (
            b"1,a,extra\n2,b\n", CSV,
            ("100080", "Number of columns in file (3) does not match that of the corresponding table (2), use file "
             "format option error_on_column_count_mismatch=false to ignore this error", 2, 1, '"T"[3]'),
        ),
        (b"1\n2,b\n", CSV, ("100080", "Number of columns in file (1)", 2, 1, '"T"["A":1]')),
        (b"1,a,extra", CSV, ("100080", "Number of columns in file (3)", 1, 10, '"T"[3]')),
        (
            b"1,a\n2,b,extra\n", CSV,
            ("100016", "Field delimiter ',' found while expecting record delimiter '\\n'", 2, 4, '"T"["B":2]'),
        ),
        (
            b"1,a\n2\n", CSV,
            ("100068", "End of record reached while expected to parse column '\"T\"[\"B\":2]'", 2, 2, '"T"["B":2]'),
        ),
        (
            b'1,"a"x\n2,b\n', QUOTED,
            ("100066", "Found character 'x' instead of record delimiter '\\n'", 1, 6, '"T"["B":2]'),
        ),
        (
            b'"1"z,a\n2,b\n', QUOTED,
            ("100065", "Found character 'z' instead of field delimiter ','", 1, 4, '"T"["A":1]'),
        ),
        (b'1,a\n2,"b\n3,c\n', QUOTED, ("100063", "matching enclosing character '\"' not found", 2, 3, '"T"["B":2]')),
        (b"1,a\n2,\xa0b\n", CSV, ("100144", "Invalid UTF8 detected in string '0xa0b'", 2, 3, '"T"["B":2]')),
    ],
)  # fmt: skip
def test_problems_say_where(data: bytes, csv: CsvFormat, expected: tuple[str, str, int, int, str]) -> None:
    code, message, line, character, column = first_problem(data, csv)
    assert message.startswith(expected[1])
    assert (code, line, character, column) == (expected[0], *expected[2:])


def test_reading_goes_on_behind_a_problem() -> None:
    rows, problems, parsed, _ = read(b'1,a\n2,"b"x,c\n3,d\n', QUOTED, checked=True)
    assert [row for row, _ in rows] == [1, 3]
    assert [problem.row for problem in problems] == [2]
    assert parsed == 3


def test_blank_lines_are_counted_even_when_skipped() -> None:
    rows, problems, parsed, _ = read(b"1,a\n\n2,b\n", replace(CSV, skip_blank_lines=True), checked=True)
    assert (len(rows), len(problems), parsed) == (2, 0, 3)


def test_a_field_longer_than_16_megabytes_is_a_problem() -> None:
    _, problems, _, _ = read(b"1," + b"x" * 16_777_217 + b"\n2,y\n", checked=True)
    assert problems[0].code == "100082"
    assert problems[0].message == ("Max LOB size (16777216) exceeded, actual size of parsed column is 16777217")


def test_records_longer_than_a_block_are_read() -> None:
    long = "y" * 3_000_000
    assert values(f'1,"{long}\n{long}"\n2,z\n'.encode(), QUOTED) == [["1", f"{long}\n{long}"], ["2", "z"]]


PIECES = st.sampled_from(
    [
        b"a",
        b"b",
        b"",
        b'""',
        b'"a,b"',
        b'"x""y"',
        b'"l\nm"',
        b"\\N",
        b" z ",
        b"\\,",
        b"\\",
        b'"',
        b"\xc3\xa9",
        b"\xff",
        b"||",
    ]
)
TEXTS = st.one_of(
    st.lists(st.lists(PIECES, min_size=1, max_size=4).map(b",".join), max_size=20).flatmap(
        lambda lines: st.sampled_from([b"\n", b"\r\n", b"\n\n"]).map(lambda end: end.join(lines))
    ),
    st.lists(st.sampled_from([b"a", b",", b'"', b"\n", b"\r", b"\\", b" ", b"|", b"\xff"]), max_size=80).map(b"".join),
)
FORMATS = st.builds(
    CsvFormat,
    type=st.just("CSV"),
    null_if=st.sampled_from([("\\N",), (), ("a", "")]),
    enclosure=st.sampled_from([None, b'"']),
    escape=st.sampled_from([None, None, b"\\"]),
    escape_unenclosed=st.sampled_from([None, b"\\"]),
    field_delimiter=st.sampled_from([b",", b",", b"|", b"||", None]),
    record_delimiter=st.sampled_from([b"\n", b"\n", b"\r\n", b"|\n", None]),
    skip_header=st.sampled_from([0, 0, 1]),
    skip_blank_lines=st.booleans(),
    trim_space=st.booleans(),
    empty_as_null=st.booleans(),
    replace_invalid=st.booleans(),
)


@settings(max_examples=500, deadline=None)
@given(
    data=TEXTS, csv=FORMATS, fields=st.integers(1, 3), checked=st.booleans(), block=st.sampled_from([8, 64, 1 << 20])
)
def test_the_fast_reader_agrees_with_the_exact_one(
    data: bytes, csv: CsvFormat, fields: int, checked: bool, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK", block)
        fast = read(data, csv, fields, checked=checked)
        exact = read(data, csv, fields, checked=checked, fast=False)
    assert fast == exact
